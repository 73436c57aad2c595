//! Joint coordinates as a chart of the states that joints allow: how changes of coordinates and rates change bodies, and how they are read off bodies, both to
//! first order, theory (20.14)-(20.16).

use super::kinematics::{joint_poses, joint_twists, set_component};
use super::motion::Motions;
use super::tangent::TangentMap;
use super::tree::{Carrier, Tree};
use crate::body_load::cross;
use crate::model::Model;
use crate::state::State;
use carom_geometry::Geometry;
use carom_math::{Pose, Space, Twist, Wrench};

/// What one coordinate does to a body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Column<S: Space> {
    /// The coordinate.
    pub coordinate: usize,
    /// The tangent of the pose by the coordinate, which is that of the twist by the rate.
    pub moves: Twist<S>,
    /// The tangent of the twist by the coordinate while the rates stay.
    pub bends: Twist<S>,
}

/// How a coordinate and its rate are read off the bodies of its joint, or off its root.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reading<S: Space> {
    /// The bodies; none for what no coordinate moves.
    pub bodies: [Option<usize>; 2],
    /// The coordinate by their poses, which is the rate by their twists.
    pub row: [Wrench<S>; 2],
    /// The rate by their poses while the twists stay.
    pub turned: [Wrench<S>; 2],
}

impl Tree {
    /// How coordinates and rates change bodies at a state, theory (20.14).
    pub(crate) fn columns<G: Geometry>(&self, model: &Model<G>, state: &State<G>) -> Vec<Vec<Column<G>>> {
        let (poses, twists) = (&state.poses, &state.twists);
        let map = TangentMap::new(self, model, poses);
        let mut out: Vec<Vec<Column<G>>> = vec![Vec::new(); poses.len()];
        for &body in &self.order {
            let own = map.columns(body).iter();
            let Carrier::Joint { joint, side, parent, .. } = self.carriers[body] else {
                out[body] = own.map(|&(coordinate, moves)| Column { coordinate, moves, bends: Twist::zero() }).collect();
                continue;
            };
            let hinge = Hinged::new(model, joint, poses, twists);
            // A body has the columns of what carries it, then its own, in the same order.
            let carrier = parent.map_or(&[][..], |parent| &out[parent]);
            let column = |(place, &(coordinate, moves)): (usize, &(usize, Twist<G>))| {
                let (on, bent) = carrier.get(place).map_or_else(|| (Twist::zero(), Twist::zero()), |column| (column.moves, column.bends));
                Column { coordinate, moves, bends: hinge.bend(side, [&moves, &on], &bent) }
            };
            out[body] = own.enumerate().map(column).collect();
        }
        out
    }

    /// How coordinates and rates are read off bodies at a state, theory (20.15).
    pub(crate) fn readings<G: Geometry>(&self, model: &Model<G>, state: &State<G>) -> Vec<Reading<G>> {
        let none = Reading { bodies: [None; 2], row: [Wrench::zero(); 2], turned: [Wrench::zero(); 2] };
        let mut out = vec![none; self.len()];
        let moves = |body: &usize| self.carriers[*body] != Carrier::Ground;
        for &body in &self.order {
            match &self.carriers[body] {
                Carrier::Free { first, axes } => {
                    for (reading, &axis) in out[*first..].iter_mut().zip(axes) {
                        let mut unit = Twist::<G>::zero();
                        set_component(&mut unit, axis, 1.0);
                        reading.bodies[0] = Some(body);
                        reading.row[0] = Wrench { lin: unit.lin, ang: unit.ang };
                    }
                }
                &Carrier::Joint { joint, first, .. } => {
                    let hinge = Hinged::new(model, joint, &state.poses, &state.twists);
                    for (place, reading) in out[first..].iter_mut().take(hinge.motions.count).enumerate() {
                        reading.bodies = model.joints[joint].bodies.map(|body| body.filter(moves));
                        (reading.row, reading.turned) = hinge.reading(place);
                    }
                }
                Carrier::Ground => (),
            }
        }
        out
    }
}

/// A joint of the tree at a state.
struct Hinged<S: Space> {
    motions: Motions<S>,
    /// From the bodies to the anchor of a: fixed in a; not so in b.
    arms: [S::Lin; 2],
    /// Twists of the bodies.
    twists: [Twist<S>; 2],
    /// What a does more than b: at the anchor, and its rate.
    relative: Twist<S>,
}

impl<G: Geometry> Hinged<G> {
    fn new(model: &Model<G>, joint: usize, poses: &[Pose<G>], twists: &[Twist<G>]) -> Self {
        let ([a, b], [twist_a, twist_b]) = (joint_poses(model, joint, poses), joint_twists(model, joint, twists));
        let motions = Motions::new(&model.joints[joint], &a, &b);
        let arms = [motions.anchor - a.position, motions.anchor - b.position];
        let relative = Twist { lin: twist_a.at(arms[0]) - twist_b.at(arms[1]), ang: twist_a.ang - twist_b.ang };
        Hinged { motions, arms, twists: [twist_a, twist_b], relative }
    }

    /// How the twist of the body on a side changes with a coordinate that moves it and what carries it so, and changes the twist of the latter so, while rates
    /// stay.
    fn bend(&self, side: usize, [own, on]: [&Twist<G>; 2], bent: &Twist<G>) -> Twist<G> {
        let [a, b] = if side == 0 { [own, on] } else { [on, own] };
        let sign = if side == 0 { 1.0 } else { -1.0 };
        // Motions turn with b, the second of two axes with a.
        let mut turned = cross::<G>(b.ang, self.relative.ang);
        if let Some(second) = self.motions.second(&self.relative) {
            turned += cross::<G>(a.ang - b.ang, second);
        }
        let slid = G::spin(b.ang, self.relative.lin);
        let ang = bent.ang + turned * sign;
        // The arm of a turns with a; that of b follows the anchor.
        let arm_a = G::spin(a.ang, self.arms[0]);
        let arm_b = (a.lin + arm_a) - b.lin;
        let change = [arm_a, arm_b];
        let [here, there] = [side, 1 - side];
        let at_anchor = bent.lin + G::spin(bent.ang, self.arms[there]) + G::spin(self.twists[there].ang, change[there]) + slid * sign;
        Twist { lin: at_anchor - G::spin(ang, self.arms[here]) - G::spin(self.twists[here].ang, change[here]), ang }
    }

    /// A coordinate by the poses of a and b, and its rate by them while the twists stay.
    fn reading(&self, place: usize) -> ([Wrench<G>; 2], [Wrench<G>; 2]) {
        let Twist { lin, ang } = self.motions.motions[place];
        let [arm_a, arm_b] = self.arms;
        let row = [Wrench { lin, ang: G::torque(arm_a, lin) + ang }, Wrench { lin: -lin, ang: -(G::torque(arm_b, lin) + ang) }];
        let [by_a, by_b] = self.twists.map(|twist| G::spin(twist.ang, lin));
        let about = cross::<G>(ang, self.relative.ang);
        let with_a = self.motions.turns_with_a(place);
        let mut on_a = Wrench { lin: by_b, ang: G::torque(arm_a, by_b - by_a) };
        let mut on_b = Wrench { lin: -by_b, ang: G::torque(lin, self.relative.lin) };
        if with_a {
            on_a.ang += about;
        } else {
            on_b.ang += about;
        }
        (row, [on_a, on_b])
    }
}
