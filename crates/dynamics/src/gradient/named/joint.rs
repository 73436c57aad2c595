//! Arrays of joints: `joint_anchor`, `joint_length`, `joint_motor_velocity`, one row per joint that has the key.

use super::Names;
use super::error::NameError;
use super::parameters::Parameters;
use super::quantity::{Change, Quantity, Row};
use crate::constraints::{DescriptionKey, DescriptionMap, Joint, JointParameter, JointSpec, Measures};
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::Vector;

/// The keys of joints, in the order of the scene format.
fn keys() -> impl Iterator<Item = &'static str> {
    const MOTOR: [&str; 5] = ["motor_velocity", "motor_position", "motor_stiffness", "motor_damping", "motor_max"];
    let placed = ["anchor", "axis", "anchors", "axes"].into_iter().chain(Measures::KEYS.iter().copied());
    placed.chain(["limits", "friction", "armature"]).chain(MOTOR)
}

/// The numbers of a key in a description; `None` where the joint does not have it.
fn read<G: Geometry>(spec: &JointSpec<G>, key: &str) -> Option<Vec<f64>> {
    let pair = |pair: &[G::Lin; 2]| pair.iter().flat_map(|x| x.as_slice().to_vec()).collect();
    // A spring has both, given or not.
    let takes = |key: &str| spec.kind.keys::<G>().contains(&key);
    match (key, spec.motor) {
        ("anchor", _) => spec.anchor.map(|x| x.as_slice().to_vec()),
        ("axis", _) => spec.axis.map(|x| x.as_slice().to_vec()),
        ("anchors", _) => spec.anchors.as_ref().map(pair),
        ("axes", _) => spec.axes.as_ref().map(pair),
        ("limits", _) => spec.limits.map(|x| x.to_vec()),
        ("friction", _) => spec.kind.has_coordinate::<G>().then(|| vec![spec.friction]),
        ("armature", _) => (spec.armature > 0.0).then(|| vec![spec.armature]),
        ("stiffness" | "damping", _) if !takes(key) => None,
        ("stiffness", _) => Some(vec![spec.measures.stiffness.unwrap_or(0.0)]),
        ("damping", _) => Some(vec![spec.measures.damping.unwrap_or(0.0)]),
        (key, motor) => match Measures::place(key) {
            Some(place) => spec.measures.list()[place].map(|x| vec![x]),
            None => motor.and_then(|motor| motor.number(motor_number(key)?)).map(|x| vec![x]),
        },
    }
}

/// Writes the numbers of a key into a description that has it.
fn write<G: Geometry>(spec: &mut JointSpec<G>, key: &str, new: &[f64]) {
    let pair = || [G::Lin::from_slice(new), G::Lin::from_slice(&new[G::DIM..])];
    match (key, &mut spec.motor) {
        ("anchor", _) => spec.anchor = Some(G::Lin::from_slice(new)),
        ("axis", _) => spec.axis = Some(G::Lin::from_slice(new)),
        ("anchors", _) => spec.anchors = Some(pair()),
        ("axes", _) => spec.axes = Some(pair()),
        ("limits", _) => spec.limits = Some([new[0], new[1]]),
        ("friction", _) => spec.friction = new[0],
        ("armature", _) => spec.armature = new[0],
        (key, motor) => match (Measures::place(key), motor) {
            (Some(place), _) => *spec.measures.list_mut()[place] = Some(new[0]),
            (None, Some(motor)) => {
                motor_number(key).and_then(|which| motor.number_mut(which)).into_iter().for_each(|number| *number = new[0])
            }
            _ => (),
        },
    }
}

/// The number of a motor that a key names.
fn motor_number(key: &str) -> Option<JointParameter> {
    match key {
        "motor_velocity" => Some(JointParameter::MotorVelocity),
        "motor_position" => Some(JointParameter::MotorPosition),
        "motor_stiffness" => Some(JointParameter::MotorStiffness),
        "motor_damping" => Some(JointParameter::MotorDamping),
        "motor_max" => Some(JointParameter::MotorMax),
        _ => None,
    }
}

/// The number of a description that an entry of a key is.
fn description_key<G: Geometry>(key: &str, entry: usize) -> DescriptionKey {
    let (side, component) = (entry / G::DIM, entry % G::DIM);
    let number = match key {
        "anchor" => return DescriptionKey::Anchor { component: entry },
        "axis" => return DescriptionKey::Axis { component: entry },
        "anchors" => return DescriptionKey::Anchors { side, component },
        "axes" => return DescriptionKey::Axes { side, component },
        "limits" if entry == 0 => JointParameter::LimitLow,
        "limits" => JointParameter::LimitHigh,
        "armature" => JointParameter::Armature,
        key => match Measures::place(key) {
            Some(place) => JointParameter::MEASURES[place],
            None => motor_number(key).unwrap_or(JointParameter::Friction),
        },
    };
    DescriptionKey::Number(number)
}

/// Names of the components of two vectors, that of body a first.
const TWO_PLANAR: [&str; 4] = ["a.x", "a.y", "b.x", "b.y"];
const TWO_SPATIAL: [&str; 6] = ["a.x", "a.y", "a.z", "b.x", "b.y", "b.z"];

fn empty<G: Geometry>(key: &str) -> Quantity {
    match key {
        "anchor" | "axis" => Quantity::vectors(G::DIM),
        "anchors" | "axes" => {
            let names = if G::DIM == 2 { TWO_PLANAR.to_vec() } else { TWO_SPATIAL.to_vec() };
            Quantity::new(names, &[2, G::DIM])
        }
        "limits" => Quantity::new(vec!["low", "high"], &[2]),
        _ => Quantity::numbers(),
    }
}

impl<G: Geometry> Names<G> {
    pub(super) fn joint_keys(&self) -> impl Iterator<Item = String> {
        keys().filter(|key| self.joints.iter().any(|spec| read(spec, key).is_some())).map(|key| format!("joint_{key}"))
    }

    /// The joint as described, before any centre of mass was moved.
    fn described(&self, joint: usize) -> Option<Joint<G>> {
        let spec = &self.joints[joint];
        Joint::new(spec.clone(), &self.poses[joint][0], &self.poses[joint][1]).ok()
    }

    pub(super) fn joint_quantity(&self, layout: &Parameters, key: &str) -> Option<Quantity> {
        let key = keys().find(|k| *k == key)?;
        let mut out = empty::<G>(key);
        let mut unit = Vec::new();
        for (index, spec) in self.joints.iter().enumerate() {
            let Some(values) = read(spec, key) else { continue };
            let joint = self.described(index)?;
            let poses = self.poses[index];
            let map = DescriptionMap::new(spec, &joint, &poses[0], &poses[1]);
            let mut column = vec![0.0; map.rows()];
            out.row(Row::Joint(index));
            for (entry, value) in values.into_iter().enumerate() {
                unit.clear();
                unit.resize(map.columns(), 0.0);
                if let Some(place) = map.keys().iter().position(|k| *k == description_key::<G>(key, entry)) {
                    unit[2 * G::DOF + place] = 1.0;
                }
                map.tangent(&unit, &mut column);
                let first = layout.joints[index].start;
                out.entry(value, column.iter().enumerate().map(|(row, weight)| (first + row, *weight)));
            }
        }
        Some(out)
    }

    pub(super) fn set_joints(&mut self, model: &mut Model<G>, key: &str, change: &Change<'_>) -> Result<(), NameError> {
        let mut joints = self.joints.clone();
        for (row, _, new) in change.rows() {
            let Row::Joint(index) = row else { continue };
            let spec = &mut joints[index];
            write(spec, key, new);
            let poses = self.poses[index];
            let mut joint = Joint::new(spec.clone(), &poses[0], &poses[1]).map_err(|error| change.fault(model, row, error.message))?;
            for side in 0..2 {
                joint.anchors[side] -= self.shifted(spec.bodies[side]);
            }
            model.joints[index] = joint;
        }
        self.joints = joints;
        Ok(())
    }
}
