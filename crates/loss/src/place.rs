//! Numbers of a state that are no number of one body: points of bodies and coordinates of joints, each with its slope below its value.

use super::Slope;
use carom::dynamics::constraints::{JointFunction, JointGradient};
use carom::dynamics::gradient::Parameters;
use carom::dynamics::{Joint, Model, State};
use carom::geometry::Geometry;
use carom::math::{Pose, Twist, Vector};

/// What is looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// A component of a point of a body, or of its velocity.
    Point {
        /// The body.
        body: usize,
        /// The point in its frame, from its centre of mass \[m\]; the third number counts in space only.
        at: [f64; 3],
        /// Component.
        component: usize,
        /// Whether its velocity is meant.
        velocity: bool,
    },
    /// The free coordinate of a joint, or its rate.
    Joint {
        /// The joint.
        joint: usize,
        /// Whether its rate is meant.
        rate: bool,
    },
}

fn sides<G: Geometry>(joint: &Joint<G>, state: &State<G>) -> ([Pose<G>; 2], [Twist<G>; 2]) {
    let pose = joint.bodies.map(|body| body.map_or_else(Pose::identity, |body| state.poses[body]));
    let twist = joint.bodies.map(|body| body.map_or_else(Twist::zero, |body| state.twists[body]));
    (pose, twist)
}

fn unit<G: Geometry>(component: usize) -> G::Lin {
    let mut out = G::Lin::zero();
    out[component] = 1.0;
    out
}

impl Place {
    /// Its value at a state.
    pub(super) fn value<G: Geometry>(&self, model: &Model<G>, state: &State<G>) -> f64 {
        match *self {
            Place::Point { body, at, component, velocity } => {
                let (pose, twist) = (&state.poses[body], &state.twists[body]);
                let arm = pose.direction(G::Lin::from_slice(&at));
                let found = if velocity { twist.lin + G::spin(twist.ang, arm) } else { pose.position + arm };
                found[component]
            }
            Place::Joint { joint, rate } => {
                let joint = &model.joints[joint];
                let (poses, twists) = sides(joint, state);
                if rate {
                    joint.coordinate_row(&poses[0], &poses[1]).speed(&twists[0], &twists[1])
                } else {
                    joint.coordinate(&poses[0], &poses[1])
                }
            }
        }
    }

    /// Adds its slope at a state, the number `index` of the run, times a weight.
    pub(super) fn add<G: Geometry>(
        &self,
        model: &Model<G>,
        layout: &Parameters,
        state: &State<G>,
        index: usize,
        weight: f64,
        out: &mut Slope,
    ) {
        let first = |body: usize| (index * model.bodies.len() + body) * G::DOF;
        match *self {
            Place::Point { body, at, component, velocity } => {
                let (pose, twist) = (&state.poses[body], &state.twists[body]);
                let arm = pose.direction(G::Lin::from_slice(&at));
                let axis = unit::<G>(component);
                // A turn moves the arm by theta x r, and with it the velocity by w x (theta x r); a spin moves the point by w x r.
                let lever = G::torque(arm, axis);
                let (moved, turn) = if velocity {
                    add(&mut out.states.twists[first(body) + G::DIM..], lever.as_slice(), weight);
                    (&mut out.states.twists, G::torque(arm, -G::spin(twist.ang, axis)))
                } else {
                    (&mut out.states.poses, lever)
                };
                moved[first(body) + component] += weight;
                add(&mut out.states.poses[first(body) + G::DIM..], turn.as_slice(), weight);
            }
            Place::Joint { joint: number, rate } => {
                let joint = &model.joints[number];
                let (poses, twists) = sides(joint, state);
                let by_state = |gradient: &JointGradient<G>, to: &mut [f64]| {
                    for (side, slope) in gradient.bodies.iter().enumerate() {
                        if let Some(body) = joint.bodies[side] {
                            add(&mut to[first(body)..], slope.lin.as_slice(), weight);
                            add(&mut to[first(body) + G::DIM..], slope.ang.as_slice(), weight);
                        }
                    }
                };
                let value = joint.value_gradient(JointFunction::Coordinate, &poses[0], &poses[1], &[1.0]);
                let moved = if rate {
                    // The row of the coordinate is the slope of its rate by the velocities.
                    by_state(&value, &mut out.states.twists);
                    joint.power_gradient(JointFunction::Coordinate, &poses[0], &poses[1], &[1.0], &twists)
                } else {
                    value
                };
                by_state(&moved, &mut out.states.poses);
                if let Some(slots) = layout.joints.get(number) {
                    let mut slot = slots.start;
                    joint.visit_parameters(|parameter| {
                        out.parameters[slot] += weight * moved.parameter(parameter);
                        slot += 1;
                    });
                }
            }
        }
    }
}

/// Adds a multiple of numbers to the first of others.
fn add(out: &mut [f64], from: &[f64], weight: f64) {
    out.iter_mut().zip(from).for_each(|(out, x)| *out += weight * x);
}
