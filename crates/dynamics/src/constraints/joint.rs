//! A joint in the frames of its bodies: errors, rows, free coordinate, inequalities, spring.

use super::check;
use super::frame::{Axes, Frame, Held};
use super::group::Group;
use super::kind::JointKind;
use super::parameter::Measures;
use super::row::Row;
use super::spec::{JointSpec, Motor, Pull};
use super::spring::SpringState;
use super::{angle, distance, screw, slide};
use crate::error::ModelError;
use carom_math::{Pose, Space};

/// Most equality rows of a joint: a weld in space.
pub const MAX_ROWS: usize = 6;

/// A joint between two bodies, or a body and the world, in their frames; what a kind does not use is zero.
///
/// Where a body is the world its pose is the identity; the row's block of that side is computed all the same and left to the caller
/// to drop.
#[derive(Clone, Debug, PartialEq)]
pub struct Joint<S: Space> {
    /// Unique name.
    pub name: String,
    /// Kind.
    pub kind: JointKind,
    /// Bodies a and b; `None` is the world.
    pub bodies: [Option<usize>; 2],
    /// Anchors in the frames of a and of b \[m\], from the centre of mass.
    pub anchors: [S::Lin; 2],
    /// Unit axes in the frames of a and of b; at the start the same world direction, but two perpendicular ones if universal.
    pub axes: [S::Lin; 2],
    /// Two directions across the axis of a, in its frame.
    pub(super) across: [S::Lin; 2],
    /// Orientation of a in the frame of b at the start, where the turn is 0.
    pub reference: S::Rot,
    /// Direction from the anchor of b to that of a at the start, in the frame of a (distance, rope, spring): it stands in for the
    /// direction between the anchors while they coincide.
    pub direction: S::Lin,
    /// The numbers of its kind.
    pub measures: Measures,
    /// Limits of the free coordinate \[rad or m\].
    pub limits: Option<[f64; 2]>,
    /// Motor on the free coordinate.
    pub motor: Option<Motor>,
    /// Largest friction torque \[N m\] or force \[N\] on the free coordinate.
    pub friction: f64,
    /// Inertia of the rotor that turns with the free coordinate [kg m^2 or kg]; 0 for none.
    pub armature: f64,
    /// Whether the two bodies may touch.
    pub collide: bool,
}

impl<S: Space> Joint<S> {
    /// A joint from its description and the start poses of its bodies (the identity for the world).
    ///
    /// Errors name the joint and the key: a key the kind needs and lacks or has no use for, a kind the space does not have, a zero
    /// axis, a number that is not finite or out of range.
    pub fn new(spec: JointSpec<S>, pose_a: &Pose<S>, pose_b: &Pose<S>) -> Result<Self, ModelError> {
        check::build(spec, pose_a, pose_b)
    }

    /// The description of the joint at the start pose: the inverse of [`Joint::new`] there. Defaults come back as numbers and axes
    /// as unit vectors.
    pub fn spec(&self, pose_a: &Pose<S>, pose_b: &Pose<S>) -> JointSpec<S> {
        // The world's side holds the very numbers that were given; a body's side has been turned there and back.
        let (pose, side) = if self.bodies[1].is_none() { (pose_b, 1) } else { (pose_a, 0) };
        let has = |key: &str| self.kind.keys::<S>().contains(&key);
        JointSpec {
            name: self.name.clone(),
            bodies: self.bodies,
            kind: self.kind,
            anchor: has("anchor").then(|| pose.point(self.anchors[side])),
            anchors: has("anchors").then(|| self.points(pose_a, pose_b)),
            axis: has("axis").then(|| pose.direction(self.axes[side])),
            axes: has("axes").then(|| [pose_a.direction(self.axes[0]), pose_b.direction(self.axes[1])]),
            measures: self.measures.map_keys(|key, value| has(key).then_some(value)),
            limits: self.limits,
            motor: self.motor,
            friction: self.friction,
            armature: self.armature,
            collide: self.collide,
        }
    }

    /// The anchors in the world \[m\], that of a first.
    #[inline(always)]
    pub fn points(&self, pose_a: &Pose<S>, pose_b: &Pose<S>) -> [S::Lin; 2] {
        [pose_a.point(self.anchors[0]), pose_b.point(self.anchors[1])]
    }

    /// Number of equality rows, at most [`MAX_ROWS`]; ropes and springs have none.
    pub fn row_count(&self) -> usize {
        self.kind.groups().iter().map(|group| group.count::<S>()).sum()
    }

    /// Whether a rotor turns with the free coordinate.
    pub fn has_rotor(&self) -> bool {
        self.armature > 0.0
    }

    /// Number of rows that a step holds: the equalities and, last, that of the rotor, theory (21.1). At most [`MAX_ROWS`].
    pub fn step_row_count(&self) -> usize {
        self.row_count() + usize::from(self.has_rotor())
    }

    /// Rows of a step into the first `step_row_count` entries.
    pub fn step_rows(&self, pose_a: &Pose<S>, pose_b: &Pose<S>, out: &mut [Row<S>]) {
        self.rows(pose_a, pose_b, out);
        if self.has_rotor() {
            out[self.row_count()] = self.coordinate_row(pose_a, pose_b);
        }
    }

    /// Position errors into the first `row_count` entries and, for a rotor, the free coordinate into the next.
    pub(crate) fn step_errors(&self, pose_a: &Pose<S>, pose_b: &Pose<S>, out: &mut [f64]) {
        self.error(pose_a, pose_b, out);
        if self.has_rotor() {
            out[self.row_count()] = self.coordinate(pose_a, pose_b);
        }
    }

    /// Position error phi into the first `row_count` entries: lengths \[m\], angles \[rad\].
    pub fn error(&self, pose_a: &Pose<S>, pose_b: &Pose<S>, out: &mut [f64]) {
        let mut first = 0;
        for group in self.kind.groups() {
            group.error(self, pose_a, pose_b, &mut out[first..]);
            first += group.count::<S>();
        }
    }

    /// Rows J into the first `row_count` entries, with d phi/dt = J v for the world twists of a and b, exact at any error.
    pub fn rows(&self, pose_a: &Pose<S>, pose_b: &Pose<S>, out: &mut [Row<S>]) {
        let mut first = 0;
        for group in self.kind.groups() {
            group.rows(self, pose_a, pose_b, &mut out[first..]);
            first += group.count::<S>();
        }
    }

    /// How many turns the joint holds besides a pinned point, that of a rotor among them; `None` where its rows are no such ones.
    pub(crate) fn pinned_turns(&self) -> Option<usize> {
        match self.kind.groups() {
            [Group::Point, ..] => Some(self.step_row_count() - S::DIM),
            _ => None,
        }
    }

    /// What places a joint with [`Joint::pinned_turns`].
    pub(crate) fn frame(&self) -> (Frame<S>, Axes<S>) {
        let held = match self.kind {
            JointKind::Hinge | JointKind::Ball if self.has_rotor() => Held::WithRotor(self.row_count() - S::DIM, self.reference),
            JointKind::Hinge | JointKind::Ball => Held::Across,
            _ => Held::Other,
        };
        (Frame(self.anchors), Axes { axis: self.axes[1], across: self.across, held })
    }

    /// Turns and their errors of a joint with [`Joint::pinned_turns`], from its groups.
    pub(super) fn held_turns(&self, pose_a: &Pose<S>, pose_b: &Pose<S>, turns: &mut [S::Ang], error: &mut [f64]) {
        let mut first = 0;
        for group in &self.kind.groups()[1..] {
            let mut rows = [Row::zero(); 3];
            group.rows(self, pose_a, pose_b, &mut rows);
            group.error(self, pose_a, pose_b, &mut error[first..]);
            let count = group.count::<S>();
            turns[first..first + count].iter_mut().zip(rows).for_each(|(turn, row)| *turn = row.a.ang);
            first += count;
        }
        // Whoever asks for the equalities alone has no room for the row of the rotor.
        if self.has_rotor() && first < turns.len() {
            let (coordinate, row) = self.coordinate_and_row(pose_a, pose_b);
            (turns[first], error[first]) = (row.a.ang, coordinate);
        }
    }

    /// Whether one coordinate is free and measured: the angle of a hinge, the position of a slider, the slide of a cylindrical joint.
    pub fn has_coordinate(&self) -> bool {
        self.kind.has_coordinate::<S>()
    }

    /// Whether the free coordinate is an angle.
    pub fn is_angular(&self) -> bool {
        self.kind.is_angular::<S>()
    }

    /// The free coordinate \[rad or m\], a relative to b, 0 at the start pose; 0 for a kind without one. An angle counts its turns in
    /// the plane, lies in (-pi, pi] in space, and of a screw counts turns by the advance.
    pub fn coordinate(&self, pose_a: &Pose<S>, pose_b: &Pose<S>) -> f64 {
        if self.kind.counts_turns() {
            screw::turn(self, pose_a, pose_b)
        } else if self.is_angular() {
            angle::angle(self, pose_a, pose_b)
        } else if self.has_coordinate() {
            slide::error(self, self.axes[0], pose_a, pose_b)
        } else {
            0.0
        }
    }

    /// The free coordinate, where an angle in space takes its value nearest to `reference` \[rad\]: a motor that aims past half a
    /// turn goes the short way.
    pub fn coordinate_near(&self, reference: f64, pose_a: &Pose<S>, pose_b: &Pose<S>) -> f64 {
        self.near(reference, self.coordinate(pose_a, pose_b))
    }

    /// The same of a coordinate that is known.
    #[inline]
    pub(crate) fn near(&self, reference: f64, coordinate: f64) -> f64 {
        let counted = self.kind.counts_turns() || !self.is_angular();
        if counted { coordinate } else { angle::nearest::<S>(reference, coordinate) }
    }

    /// The free coordinate and the row of its rate.
    pub(crate) fn coordinate_and_row(&self, pose_a: &Pose<S>, pose_b: &Pose<S>) -> (f64, Row<S>) {
        if self.is_angular() && !self.kind.counts_turns() {
            angle::angle_and_row(self, pose_a, pose_b)
        } else {
            (self.coordinate(pose_a, pose_b), self.coordinate_row(pose_a, pose_b))
        }
    }

    /// A known coordinate as the motor measures it: a servo's is the value nearest to its target.
    pub(crate) fn as_motor_measures(&self, pull: &Pull, coordinate: f64) -> f64 {
        match self.motor {
            Some(Motor::Servo { .. }) => self.near(pull.position, coordinate),
            _ => coordinate,
        }
    }

    /// The coordinate as its motor measures it.
    pub(crate) fn motor_coordinate(&self, pull: &Pull, pose_a: &Pose<S>, pose_b: &Pose<S>) -> f64 {
        self.as_motor_measures(pull, self.coordinate(pose_a, pose_b))
    }

    /// The row of the free coordinate: its rate is row . v, exact at any error; zero for a kind without one.
    pub fn coordinate_row(&self, pose_a: &Pose<S>, pose_b: &Pose<S>) -> Row<S> {
        if self.is_angular() {
            angle::row(self, pose_a, pose_b)
        } else if self.has_coordinate() {
            slide::row(self, self.axes[0], pose_a, pose_b)
        } else {
            Row::zero()
        }
    }

    /// Number of inequalities: 2 for limits, 1 for a rope.
    pub fn inequality_count(&self) -> usize {
        match (self.kind, self.limits) {
            (JointKind::Rope, _) => 1,
            (_, Some(_)) => 2,
            _ => 0,
        }
    }

    /// Gap >= 0 \[m or rad\] of an inequality and the row of its rate: the lower limit, then the upper, theory (3.9); or the slack of
    /// the rope. An index past the count has an infinite gap.
    ///
    /// An angle in space is measured on the turn around the middle of its limits, so limits may reach past half a turn.
    pub fn inequality(&self, index: usize, pose_a: &Pose<S>, pose_b: &Pose<S>) -> (f64, Row<S>) {
        match (self.kind, self.limits, index) {
            (JointKind::Rope, _, 0) => {
                (self.measures.length - distance::length(self, pose_a, pose_b), distance::row(self, pose_a, pose_b).negated())
            }
            (_, Some(limits), 0 | 1) => self.limit(limits, index, self.coordinate_and_row(pose_a, pose_b)),
            _ => (f64::INFINITY, Row::zero()),
        }
    }

    /// Gap and row of a limit where coordinate and row are known.
    pub(crate) fn limit(&self, [low, high]: [f64; 2], index: usize, (coordinate, row): (f64, Row<S>)) -> (f64, Row<S>) {
        let coordinate = self.near(0.5 * (low + high), coordinate);
        if index == 0 { (coordinate - low, row) } else { (high - coordinate, row.negated()) }
    }

    /// The spring at this pose; `None` for other kinds.
    pub fn spring(&self, pose_a: &Pose<S>, pose_b: &Pose<S>) -> Option<SpringState<S>> {
        (self.kind == JointKind::Spring).then(|| SpringState {
            length: distance::length(self, pose_a, pose_b),
            rest: self.measures.rest,
            stiffness: self.measures.stiffness,
            damping: self.measures.damping,
            row: distance::row(self, pose_a, pose_b),
        })
    }

    /// Whether the ends of a spring meet, where its row has no direction of its own.
    pub(crate) fn ends_meet(&self, pose_a: &Pose<S>, pose_b: &Pose<S>) -> bool {
        self.kind == JointKind::Spring && distance::coincide(self, pose_a, pose_b)
    }

    /// Whether the force of a spring is the same linear function of its ends in every direction, -k (c_a - c_b): nothing to rest at, no damper.
    pub(crate) fn pulls_evenly(&self) -> bool {
        self.measures.rest == 0.0 && self.measures.damping == 0.0
    }

    /// Whether a control drives the joint.
    pub fn is_controlled(&self) -> bool {
        self.motor.is_some_and(|motor| motor.is_controlled())
    }
}
