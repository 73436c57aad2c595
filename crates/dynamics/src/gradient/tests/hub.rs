//! Bodies with many joints in the derivative: nodes of the matrix in trees, parts between welds elsewhere.

use super::linkage::{Road, agree, operations};
use crate::body_load::Resistances;
use crate::constraints::{Joint, JointKind, JointSpec};
use crate::model::{Body, BodyKind, Model};
use crate::state::State;
use crate::world::World;
use carom_geometry::Geometry;
use carom_math::{Planar, Pose, Spatial, Twist, Vector};
use std::f64::consts::TAU;

/// Distance of the joints from the middle of a hub, and of the middle of a spoke from its joint \[m\].
const RIM: f64 = 1.0;
const REACH: f64 = 0.2;

/// A scene of bodies in a plane, which is turned in space.
struct Yard<G: Geometry> {
    model: Model<G>,
    state: State<G>,
}

impl<G: Geometry> Yard<G> {
    fn new() -> Self {
        let mut model = Model::<G>::new("hub");
        model.gravity[1] = -9.81;
        Yard { model, state: State::empty() }
    }

    fn at(x: f64, y: f64) -> G::Lin {
        let mut out = G::Lin::zero();
        (out[0], out[1]) = (x, y);
        if G::DIM > 2 {
            out[2] = 0.2 * x;
        }
        out
    }

    fn body(&mut self, mass: f64, moments: [f64; 3], (x, y): (f64, f64)) -> usize {
        let name = format!("body {}", self.model.bodies.len());
        let mut body = Body::new(name, BodyKind::Dynamic, mass, G::inertia_from_moments(&moments[..G::ANG]));
        body.resistances = Resistances::by_key(|key| match key {
            "damping" => 0.05,
            "spin_damping" => 0.1,
            _ => 0.2,
        });
        self.model.bodies.push(body);
        self.state.poses.push(Pose { position: Self::at(x, y), rotation: G::identity() });
        let mut twist = Twist::<G>::zero();
        // All turn as one about the origin.
        twist.ang[G::ANG - 1] = 1.5;
        (twist.lin[0], twist.lin[1]) = (-1.5 * y, 1.5 * x);
        self.state.twists.push(twist);
        self.model.bodies.len() - 1
    }

    fn joint(&mut self, kind: JointKind, on: usize, to: Option<usize>, (x, y): (f64, f64)) {
        let mut spec = JointSpec::<G>::new(format!("joint {}", self.model.joints.len()), kind, [Some(on), to]);
        let has = |key: &str| kind.keys::<G>().contains(&key);
        spec.anchor = has("anchor").then(|| Self::at(x, y));
        let mut axis = G::Lin::zero();
        axis[G::DIM - 1] = 1.0;
        spec.axis = has("axis").then_some(axis);
        let rest = Pose { position: G::Lin::zero(), rotation: G::identity() };
        let joint = Joint::new(spec, &self.state.poses[on], to.map_or(&rest, |to| &self.state.poses[to]));
        self.model.joints.push(joint.expect("a sound joint"));
    }

    /// Spokes around a body, joined by these kinds in turn.
    fn spokes(&mut self, kinds: &[JointKind], on: usize, (x, y): (f64, f64), rim: f64, count: usize) -> Vec<usize> {
        (0..count)
            .map(|k| {
                let (sin, cos) = (TAU * (k as f64 + 0.3) / count as f64).sin_cos();
                let at = |r: f64| (x + r * cos, y + r * sin);
                let spoke = self.body(0.2 + 0.01 * k as f64, [2e-3, 3e-3, 4e-3], at(rim + REACH));
                self.joint(kinds[k % kinds.len()], spoke, Some(on), at(rim));
                spoke
            })
            .collect()
    }

    fn world(self) -> World<G> {
        World::new(self.model, self.state).expect("a sound world")
    }
}

/// A hub on a pivot beside its centre with spokes; the first two tied by a bar, which closes a loop, where `tied`.
fn hub<G: Geometry>(kinds: &[JointKind], count: usize, tied: bool) -> World<G> {
    let mut yard = Yard::<G>::new();
    let hub = yard.body(5.0, [2.0, 2.5, 3.0], (0.0, 0.0));
    yard.joint(JointKind::Hinge, hub, None, (0.1, 0.3));
    let spokes = yard.spokes(kinds, hub, (0.0, 0.0), RIM, count);
    if tied {
        let end = |k: usize| (TAU * (k as f64 + 0.3) / count as f64).sin_cos();
        let [a, b] = [0, 1].map(|k| ((RIM + 2.0 * REACH) * end(k).1, (RIM + 2.0 * REACH) * end(k).0));
        let bar = yard.body(0.1, [1e-3; 3], (0.5 * (a.0 + b.0), 0.5 * (a.1 + b.1)));
        let loose = if G::DIM > 2 { JointKind::Ball } else { JointKind::Hinge };
        yard.joint(loose, bar, Some(spokes[0]), a);
        yard.joint(loose, bar, Some(spokes[1]), b);
    }
    yard.world()
}

/// A hub that flies free, each of its arms a hub again; the first arm does not turn where `held`.
fn hubs<G: Geometry>(arms: usize, held: bool) -> World<G> {
    let mut yard = Yard::<G>::new();
    let hub = yard.body(5.0, [2.0, 2.5, 3.0], (0.0, 0.0));
    let arms_of = yard.spokes(&[JointKind::Hinge], hub, (0.0, 0.0), RIM, arms);
    for (k, arm) in arms_of.into_iter().enumerate() {
        let (sin, cos) = (TAU * (k as f64 + 0.3) / arms as f64).sin_cos();
        yard.model.bodies[arm].locked_rotation = held && k == 0;
        if held && k == 0 {
            yard.state.twists[arm].ang = G::Ang::zero();
        }
        let reach = RIM + REACH;
        yard.spokes(&[JointKind::Hinge], arm, (reach * cos, reach * sin), 0.5 * REACH, arms);
    }
    yard.world()
}

#[test]
fn hubs_of_trees_have_one_derivative_by_both_roads() {
    use JointKind::{Ball, Hinge, Slider, Weld};
    agree(hub::<Planar>(&[Hinge], 30, false), 20, true, "planar hub");
    agree(hub::<Planar>(&[Hinge, Slider, Weld], 18, false), 20, true, "planar hub of several kinds");
    agree(hubs::<Planar>(8, false), 20, true, "planar hub of hubs");
    agree(hub::<Spatial>(&[Hinge], 12, false), 20, true, "spatial hub");
    agree(hub::<Spatial>(&[Hinge, Ball, Slider, Weld], 12, false), 20, true, "spatial hub of several kinds");
    agree(hubs::<Spatial>(6, false), 20, true, "spatial hub of hubs");
}

#[test]
fn hubs_in_loops_have_one_derivative_by_both_roads() {
    agree(hub::<Planar>(&[JointKind::Hinge], 30, true), 20, true, "tied planar hub");
    agree(hub::<Spatial>(&[JointKind::Hinge, JointKind::Ball], 12, true), 20, true, "tied spatial hub");
    agree(hubs::<Planar>(8, true), 20, true, "planar hub of hubs, one held");
    agree(hubs::<Spatial>(6, true), 20, true, "spatial hub of hubs, one held");
}

/// Twice the spokes may cost so many times as much, whichever road is taken; the ends of a chain of parts are cheaper than its middle.
const TWICE: f64 = 2.2;

#[test]
fn twice_the_spokes_cost_twice_the_operations() {
    for (road, tied) in [(Road::Own, false), (Road::Own, true), (Road::General, false), (Road::General, true)] {
        let planar = [100, 200, 400].map(|count| operations(&mut hub::<Planar>(&[JointKind::Hinge], count, tied), road) as f64);
        let spatial = [50, 100, 200].map(|count| operations(&mut hub::<Spatial>(&[JointKind::Ball], count, tied), road) as f64);
        for [once, twice, four] in [planar, spatial] {
            assert!(once > 0.0 && twice < TWICE * once && four < TWICE * twice, "{road:?} {tied}: {once} {twice} {four}");
        }
    }
}
