//! From the description of a joint to its parameters: how they change with the world anchors, axes and start poses, theory (15.13).
//!
//! A scene places anchors and axes in the world at the start poses; [`Joint::new`] carries them into the frames of the bodies. The
//! derivative of that step is a small matrix, built once and used in both directions: tangents forwards, gradients backwards.

use super::joint::Joint;
use super::kind::JointKind;
use super::parameter::JointParameter;
use super::spec::JointSpec;
use carom_math::{Pose, Space, Twist, Vector};

/// A number that the description of a joint gives; `side` is 0 for body a and 1 for body b.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DescriptionKey {
    /// A component of the world point `anchor` \[m\].
    Anchor {
        /// World component.
        component: usize,
    },
    /// A component of one of the world points `anchors` \[m\].
    Anchors {
        /// Body.
        side: usize,
        /// World component.
        component: usize,
    },
    /// A component of the world direction `axis`, of any length.
    Axis {
        /// World component.
        component: usize,
    },
    /// A component of one of the world directions `axes`, of any length.
    Axes {
        /// Body.
        side: usize,
        /// World component.
        component: usize,
    },
    /// A number that the joint takes as it is: lengths where given, spring, limits, motor, friction.
    Number(JointParameter),
}

/// How the parameters of a joint change with its description and with the start poses: a matrix of P rows and 2 DOF + K columns.
///
/// The first 2 DOF columns are the start poses (a.lin, a.ang, b.lin, b.ang; world anchors and axes stay), the others the keys.
#[derive(Clone, Debug, PartialEq)]
pub struct DescriptionMap {
    keys: Vec<DescriptionKey>,
    rows: usize,
    columns: usize,
    /// By rows.
    matrix: Vec<f64>,
}

/// A change of what the description says, and of the poses it is said at.
struct Change<S: Space> {
    poses: [Twist<S>; 2],
    points: [S::Lin; 2],
    axes: [S::Lin; 2],
    number: Option<JointParameter>,
}

impl DescriptionMap {
    /// The map of a joint made from `spec` at its start poses (the identity for the world).
    ///
    /// Absent keys follow what they default from: a length or rest length the distance of the anchors, the anchor of a weld the
    /// middle of its bodies.
    pub fn new<S: Space>(spec: &JointSpec<S>, joint: &Joint<S>, pose_a: &Pose<S>, pose_b: &Pose<S>) -> Self {
        let keys = keys(spec, joint);
        let poses = 2 * S::DOF;
        let (rows, columns) = (joint.parameter_count(), poses + keys.len());
        let mut matrix = vec![0.0; rows * columns];
        for column in 0..columns {
            let mut change = Change::<S>::none();
            if column < poses {
                change.move_pose(spec, column);
            } else {
                change.move_key(keys[column - poses]);
            }
            let mut row = 0;
            let moved = Moved::new(spec, joint, [pose_a, pose_b], &change);
            joint.visit_parameters(|parameter| {
                matrix[row * columns + column] = moved.parameter(parameter, &change);
                row += 1;
            });
        }
        DescriptionMap { keys, rows, columns, matrix }
    }

    /// The keys, in the order of the columns after those of the poses.
    pub fn keys(&self) -> &[DescriptionKey] {
        &self.keys
    }
    /// Number of parameters of the joint.
    pub fn rows(&self) -> usize {
        self.rows
    }
    /// Number of columns: start poses, then keys.
    pub fn columns(&self) -> usize {
        self.columns
    }
    /// Change of the joint's parameters, `rows` numbers, by a change of poses and keys, `columns` numbers.
    pub fn tangent(&self, description: &[f64], out: &mut [f64]) {
        for (row, out) in self.matrix.chunks_exact(self.columns.max(1)).zip(out) {
            *out = row.iter().zip(description).map(|(entry, change)| entry * change).sum();
        }
    }
    /// Gradient with respect to poses and keys, `columns` numbers, from that with respect to the parameters, `rows` numbers.
    pub fn gradient(&self, parameters: &[f64], out: &mut [f64]) {
        out.fill(0.0);
        for (row, weight) in self.matrix.chunks_exact(self.columns.max(1)).zip(parameters) {
            for (out, entry) in out.iter_mut().zip(row) {
                *out += entry * weight;
            }
        }
    }
}

/// The numbers a description gives, in order.
fn keys<S: Space>(spec: &JointSpec<S>, joint: &Joint<S>) -> Vec<DescriptionKey> {
    let mut keys = Vec::new();
    let components = 0..S::DIM;
    if spec.anchor.is_some() {
        keys.extend(components.clone().map(|component| DescriptionKey::Anchor { component }));
    }
    if spec.axis.is_some() {
        keys.extend(components.clone().map(|component| DescriptionKey::Axis { component }));
    }
    for side in 0..2 {
        if spec.anchors.is_some() {
            keys.extend(components.clone().map(|component| DescriptionKey::Anchors { side, component }));
        }
        if spec.axes.is_some() {
            keys.extend(components.clone().map(|component| DescriptionKey::Axes { side, component }));
        }
    }
    joint.visit_parameters(|parameter| {
        let given = match parameter {
            JointParameter::Anchor { .. } | JointParameter::Axis { .. } | JointParameter::Reference { .. } => false,
            JointParameter::Length => spec.measures.length.is_some(),
            JointParameter::Rest => spec.measures.rest.is_some(),
            _ => true,
        };
        if given {
            keys.push(DescriptionKey::Number(parameter));
        }
    });
    keys
}

impl<S: Space> Change<S> {
    fn none() -> Self {
        Change { poses: [Twist::zero(); 2], points: [S::Lin::zero(); 2], axes: [S::Lin::zero(); 2], number: None }
    }

    /// A unit change of a pose column, and of an anchor that defaults from the poses.
    fn move_pose(&mut self, spec: &JointSpec<S>, column: usize) {
        let (side, component) = (column / S::DOF, column % S::DOF);
        if component >= S::DIM {
            self.poses[side].ang[component - S::DIM] = 1.0;
            return;
        }
        self.poses[side].lin[component] = 1.0;
        if spec.kind == JointKind::Weld && spec.anchor.is_none() {
            let share = match (spec.bodies[side], spec.bodies[1 - side]) {
                (None, _) => 0.0,
                (_, None) => 1.0,
                _ => 0.5,
            };
            self.points.iter_mut().for_each(|point| point[component] = share);
        }
    }

    /// A unit change of a key.
    fn move_key(&mut self, key: DescriptionKey) {
        match key {
            DescriptionKey::Anchor { component } => self.points.iter_mut().for_each(|point| point[component] = 1.0),
            DescriptionKey::Anchors { side, component } => self.points[side][component] = 1.0,
            DescriptionKey::Axis { component } => self.axes.iter_mut().for_each(|axis| axis[component] = 1.0),
            DescriptionKey::Axes { side, component } => self.axes[side][component] = 1.0,
            DescriptionKey::Number(parameter) => self.number = Some(parameter),
        }
    }
}

/// How the fields of a joint follow a change of its description, theory (15.13).
struct Moved<S: Space> {
    anchors: [S::Lin; 2],
    axes: [S::Lin; 2],
    reference: S::Ang,
    /// Of a length and a rest length that are not given.
    length: f64,
    rest: f64,
}

impl<S: Space> Moved<S> {
    fn new(spec: &JointSpec<S>, joint: &Joint<S>, poses: [&Pose<S>; 2], change: &Change<S>) -> Self {
        let points = joint.points(poses[0], poses[1]);
        let world_axes = [poses[0].direction(joint.axes[0]), poses[1].direction(joint.axes[1])];
        let axes = unit_axes(spec, world_axes, change.axes);
        let mut out = Moved { anchors: [S::Lin::zero(); 2], axes: [S::Lin::zero(); 2], reference: S::Ang::zero(), length: 0.0, rest: 0.0 };
        for side in 0..2 {
            let (pose, twist) = (poses[side], change.poses[side]);
            let slip = change.points[side] - twist.at(points[side] - pose.position);
            out.anchors[side] = pose.local_direction(slip);
            out.axes[side] = pose.local_direction(axes[side] - S::spin(twist.ang, world_axes[side]));
        }
        out.reference = S::unrotate_rate(poses[1].rotation, change.poses[0].ang - change.poses[1].ang);
        let stretch = (points[0] - points[1]).unit().dot(change.points[0] - change.points[1]);
        out.length = if spec.measures.length.is_none() { stretch } else { 0.0 };
        out.rest = if spec.measures.rest.is_none() { stretch } else { 0.0 };
        out
    }

    fn parameter(&self, parameter: JointParameter, change: &Change<S>) -> f64 {
        let given = f64::from(u8::from(change.number == Some(parameter)));
        match parameter {
            JointParameter::Anchor { side, component } => self.anchors[side][component],
            JointParameter::Axis { side, component } => self.axes[side][component],
            JointParameter::Reference { component } => self.reference[component],
            JointParameter::Length => self.length + given,
            JointParameter::Rest => self.rest + given,
            _ => given,
        }
    }
}

/// Change of the unit axes by a change of the axes as given: x/|x|, and for a universal joint the second one kept across the first.
fn unit_axes<S: Space>(spec: &JointSpec<S>, unit: [S::Lin; 2], change: [S::Lin; 2]) -> [S::Lin; 2] {
    let turned = |given: S::Lin, change: S::Lin| {
        // Scaled first, so that no square over- or underflows.
        let size = given.max_abs();
        if size < f64::MIN_POSITIVE {
            return S::Lin::zero();
        }
        let scaled = given * (1.0 / size);
        let unit = scaled.unit();
        (change - unit * unit.dot(change)) * (1.0 / (size * scaled.norm()))
    };
    if let Some(axis) = spec.axis {
        return [turned(axis, change[0]), turned(axis, change[1])];
    }
    let Some([x, y]) = spec.axes else { return [S::Lin::zero(); 2] };
    // y := unit(y - x (x . y)) of the unit vectors x and y.
    let (dx, dy, y) = (turned(x, change[0]), turned(y, change[1]), y.unit());
    let cosine = unit[0].dot(y);
    let across = y - unit[0] * cosine;
    let d_across = dy - dx * cosine - unit[0] * (dx.dot(y) + unit[0].dot(dy));
    [dx, turned(across, d_across)]
}
