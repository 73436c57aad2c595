//! What the coordinates of one joint do: the pose of a in b, and the motions of a relative to b, theory (20.2)-(20.3).

use crate::body_load::cross;
use crate::constraints::{Joint, JointKind, pitch};
use carom_math::{Pose, Space, Twist, Vector};
use std::f64::consts::{PI, TAU};

/// Most coordinates of a joint.
pub(super) const MOST: usize = 3;

/// The motions of a relative to b at a pose, one per coordinate: the velocity of the anchor of a and the rate, world axes, for a rate of one. They are
/// orthonormal, so that rates are products with them; that of a screw is not, and its rate is that of its turn.
pub(super) struct Motions<S: Space> {
    /// The anchor of a in the world \[m\].
    pub anchor: S::Lin,
    /// The first `count` count.
    pub motions: [Twist<S>; MOST],
    /// Number of coordinates.
    pub count: usize,
    /// Whether the second axis turns about the first.
    turning: bool,
}

/// The axis about which a hinge turns, in the frame of b; the plane has only one.
fn axis<S: Space>(joint: &Joint<S>) -> S::Ang {
    if S::ANG > 1 {
        return S::Ang::from_slice(joint.axes[1].as_slice());
    }
    let mut out = S::Ang::zero();
    out[0] = 1.0;
    out
}

/// The axis that a universal joint fixes in a, in the frame of b at the start.
fn second_axis<S: Space>(joint: &Joint<S>) -> S::Ang {
    let mut out = S::Ang::zero();
    S::rotate(joint.reference, joint.axes[0]).as_slice().iter().take(S::ANG).enumerate().for_each(|(i, x)| out[i] = *x);
    out
}

/// The direction of a slide in the frame of b.
fn slide<S: Space>(joint: &Joint<S>) -> S::Lin {
    if joint.kind == JointKind::Slider { S::rotate(joint.reference, joint.axes[0]) } else { joint.axes[1] }
}

/// Whether a joint turns about one axis and does nothing else.
fn is_hinge<S: Space>(kind: JointKind) -> bool {
    kind == JointKind::Hinge || (kind == JointKind::Ball && S::ANG == 1)
}

/// The turn of a since the start, in the frame of b.
fn turn<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> S::Rot {
    S::compose(S::compose(S::inverse(b.rotation), a.rotation), S::inverse(joint.reference))
}

/// The angle of a turn about an axis, in (-pi, pi].
fn angle_about<S: Space>(turn: S::Rot, axis: S::Ang) -> f64 {
    let mut q = [0.0; 4];
    S::write_rotation(turn, &mut q);
    let angle = 2.0 * S::Ang::from_slice(&q[1..]).dot(axis).atan2(q[0]);
    angle - TAU * ((angle - PI) / TAU).ceil()
}

/// The coordinates of a joint at a pose, theory (20.2). An angle in space lies within half a turn of the middle of its limits, or of 0.
pub(super) fn read<S: Space>(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>, out: &mut [f64]) {
    match joint.kind {
        kind if is_hinge::<S>(kind) => {
            out[0] = joint.limits.map_or_else(|| joint.coordinate(a, b), |[low, high]| joint.coordinate_near(0.5 * (low + high), a, b));
        }
        JointKind::Slider | JointKind::Screw => out[0] = joint.coordinate(a, b),
        JointKind::Cylindrical => {
            out[0] = joint.coordinate(a, b);
            out[1] = angle_about::<S>(turn(joint, a, b), axis(joint));
        }
        JointKind::Planar => {
            let [point_a, point_b] = joint.points(a, b);
            let apart = b.local_direction(point_a - point_b);
            let [x, y] = S::tangents(joint.axes[1]);
            (out[0], out[1]) = (x.dot(apart), y.dot(apart));
            out[2] = angle_about::<S>(turn(joint, a, b), axis(joint));
        }
        JointKind::Universal => {
            let (turn, first, second) = (turn(joint, a, b), axis(joint), second_axis(joint));
            let carried = S::rotate_rate(turn, second);
            out[0] = cross::<S>(first, second).dot(carried).atan2(second.dot(carried));
            out[1] = angle_about::<S>(S::compose(S::exp(first * -out[0]), turn), second);
        }
        JointKind::Ball => out[..S::ANG].copy_from_slice(S::log(turn(joint, a, b)).as_slice()),
        _ => (),
    }
}

/// The pose of a in the frame of b for coordinates, theory (20.2).
pub(super) fn place<S: Space>(joint: &Joint<S>, q: &[f64]) -> Pose<S> {
    let mut apart = S::Lin::zero();
    let since_start = match joint.kind {
        kind if is_hinge::<S>(kind) => S::exp(axis(joint) * q[0]),
        JointKind::Slider => {
            apart = slide(joint) * q[0];
            S::identity()
        }
        JointKind::Screw => {
            apart = slide(joint) * (pitch(joint) * q[0]);
            S::exp(axis(joint) * q[0])
        }
        JointKind::Cylindrical => {
            apart = slide(joint) * q[0];
            S::exp(axis(joint) * q[1])
        }
        JointKind::Planar => {
            let [x, y] = S::tangents(joint.axes[1]);
            apart = x * q[0] + y * q[1];
            S::exp(axis(joint) * q[2])
        }
        JointKind::Universal => S::compose(S::exp(axis(joint) * q[0]), S::exp(second_axis(joint) * q[1])),
        JointKind::Ball => S::exp(S::Ang::from_slice(q)),
        _ => S::identity(),
    };
    let rotation = S::compose(since_start, joint.reference);
    Pose { position: joint.anchors[1] + apart - S::rotate(rotation, joint.anchors[0]), rotation }
}

impl<S: Space> Motions<S> {
    /// The motions of a joint at a pose, theory (20.3).
    pub fn new(joint: &Joint<S>, a: &Pose<S>, b: &Pose<S>) -> Self {
        let along = |direction: S::Lin| Twist { lin: b.direction(direction), ang: S::Ang::zero() };
        let about = |axis: S::Ang| Twist { lin: S::Lin::zero(), ang: S::rotate_rate(b.rotation, axis) };
        let mut out = Motions { anchor: a.point(joint.anchors[0]), motions: [Twist::zero(); MOST], count: 0, turning: false };
        let mut push = |motion: Twist<S>| {
            out.motions[out.count] = motion;
            out.count += 1;
        };
        match joint.kind {
            kind if is_hinge::<S>(kind) => push(about(axis(joint))),
            JointKind::Slider => push(along(slide(joint))),
            JointKind::Screw => push(about(axis(joint)).plus(pitch(joint), along(slide(joint)))),
            JointKind::Cylindrical => {
                push(along(slide(joint)));
                push(about(axis(joint)));
            }
            JointKind::Planar => {
                S::tangents(joint.axes[1]).into_iter().for_each(|direction| push(along(direction)));
                push(about(axis(joint)));
            }
            JointKind::Universal => {
                push(about(axis(joint)));
                let carried = S::rotate_rate(S::compose(a.rotation, S::inverse(joint.reference)), second_axis(joint));
                push(Twist { lin: S::Lin::zero(), ang: carried });
                out.turning = true;
            }
            JointKind::Ball => {
                for i in 0..S::ANG {
                    let mut unit = S::Ang::zero();
                    unit[i] = 1.0;
                    push(about(unit));
                }
            }
            _ => (),
        }
        out
    }

    /// The rate of a coordinate for the velocity of the anchor and the rate of a relative to b; a screw is read by its turn.
    pub fn rate(&self, kind: JointKind, place: usize, apart: S::Lin, turning: S::Ang) -> f64 {
        let motion = &self.motions[place];
        let turned = motion.ang.dot(turning);
        if kind == JointKind::Screw { turned } else { motion.lin.dot(apart) + turned }
    }

    /// The relative motion of rates: that of the anchor of a, and the rate.
    pub fn relative(&self, rates: &[f64]) -> Twist<S> {
        self.motions[..self.count].iter().zip(rates).fold(Twist::zero(), |sum, (motion, rate)| sum.plus(*rate, *motion))
    }

    /// How the relative rate changes in the frame of b while the rates stay, theory (20.6).
    pub fn turning(&self, rates: &[f64]) -> S::Ang {
        if self.turning { cross::<S>(self.motions[0].ang * rates[0], self.motions[1].ang * rates[1]) } else { S::Ang::zero() }
    }

    /// Whether a motion turns with a; all others turn with b.
    pub fn turns_with_a(&self, place: usize) -> bool {
        self.turning && place == 1
    }

    /// The part of a relative rate that turns with a.
    pub fn second(&self, relative: &Twist<S>) -> Option<S::Ang> {
        self.turning.then(|| self.motions[1].ang * self.motions[1].ang.dot(relative.ang))
    }
}
