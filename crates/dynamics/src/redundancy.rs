//! Joints that hold nothing the others do not hold already, theory (9.12).

use crate::constraints::Row;
use crate::island::{LocalBody, LocalJoint};
use crate::joint_factor::JointFactor;
use crate::joint_graph::JointGraphs;
use crate::joint_rows::JointRows;
use crate::line::Line;
use crate::model::{BodyKind, Model};
use crate::state::State;
use carom_geometry::Geometry;
use carom_math::Pose;

/// All joints of a model at a state, with their rows and their factor.
pub(crate) struct Jointed<G: Geometry> {
    /// The world, then the bodies in order.
    pub bodies: Vec<LocalBody<G>>,
    /// Joints that hold something that moves.
    pub joints: Vec<LocalJoint>,
    /// Their rows.
    pub lines: Vec<Line<G>>,
    /// Their factor.
    pub factor: JointFactor,
}

impl<G: Geometry> Jointed<G> {
    /// Rows and factor at the poses of a state.
    pub fn new(model: &Model<G>, state: &State<G>) -> Self {
        let mut bodies = vec![LocalBody::world()];
        let mut poses = vec![Pose::identity()];
        for (index, body) in model.bodies.iter().enumerate() {
            let mut local = LocalBody::of(index, body, true);
            local.turn_to(&state.poses[index]);
            bodies.push(local);
            poses.push(state.poses[index]);
        }
        let (mut joints, mut lines, mut rows) = (Vec::new(), Vec::new(), Vec::new());
        for (index, joint) in model.joints.iter().enumerate() {
            if !joint.bodies.iter().flatten().any(|&b| model.bodies[b].kind == BodyKind::Dynamic) {
                continue;
            }
            let pair = joint.bodies.map(|body| body.map_or(0, |b| b + 1));
            let (first_row, rows_of) = (lines.len(), joint.row_count());
            joints.push(LocalJoint {
                index,
                bodies: pair,
                first_row,
                rows: rows_of,
                model_row: first_row,
                size: 1.0,
                inv_armature: 0.0,
                slow_pull: false,
                control: None,
            });
            rows.clear();
            rows.resize(joint.row_count(), Row::zero());
            joint.rows(&poses[pair[0]], &poses[pair[1]], &mut rows);
            lines.extend(rows.iter().map(|row| Line::new(pair, *row, &bodies)));
        }
        let mut factor = JointFactor::default();
        let graph = JointGraphs::default().of(&joints, &bodies, &[], !model.options.whole_bodies);
        factor.prepare(graph, &joints, &bodies);
        let mut compact = JointRows::default();
        compact.lay_out(&joints, model);
        compact.weigh(&bodies);
        compact.place(&joints, model, &poses);
        factor.refactor(&compact, false);
        Jointed { bodies, joints, lines, factor }
    }
}

/// Joints of the model, rising, of which at least one row depends on rows of other joints at the poses of a state.
pub(crate) fn redundant_joints<G: Geometry>(model: &Model<G>, state: &State<G>) -> Vec<usize> {
    let all = Jointed::new(model, state);
    let mut found: Vec<usize> = all.factor.redundant_joints().map(|joint| all.joints[joint].index).collect();
    found.sort_unstable();
    found.dedup();
    found
}
