//! Parameters by name: whole arrays of masses, coefficients, sizes and joint descriptions, read, set and differentiated.
//!
//! A gradient is taken with respect to the flat vector of [`Parameters`]; people speak of `mass`, `joint_anchor` or `shape_box`. Every
//! entry of such an array moves a few slots of the flat vector linearly, so one sparse matrix carries directions forwards and gradients
//! backwards, and the two are transposes of each other by construction, theory (17.2).

mod body;
mod error;
mod joint;
pub(crate) mod parameters;
mod quantity;
mod shape;

pub use error::NameError;
pub use quantity::{Quantity, Row};

use crate::constraints::JointSpec;
use crate::edit::Kept;
use crate::error::ModelError;
use crate::model::Model;
use crate::state::State;
use carom_geometry::Geometry;
use carom_math::{Pose, Vector};
use parameters::Parameters;

/// The parameters of a model by name.
///
/// Joints are described as in a scene: in world coordinates at the start poses, which stay what they are when a world moves on. `centre`
/// counts from the centre of mass that the model had at first; moving it with the poses held carries shapes, joint anchors and the
/// points of forces the other way.
#[derive(Clone, Debug)]
pub struct Names<G: Geometry> {
    joints: Vec<JointSpec<G>>,
    /// The poses of both bodies at which each joint is described.
    poses: Vec<[Pose<G>; 2]>,
    centre: Vec<G::Lin>,
}

impl<G: Geometry> Names<G> {
    /// Names for a model whose joints were described so at the start poses; without descriptions they are read off the model.
    ///
    /// # Errors
    /// As many poses as bodies and, if there are any, as many descriptions as joints are needed.
    pub fn new(model: &Model<G>, joints: &[JointSpec<G>], start: &State<G>) -> Result<Self, ModelError> {
        if start.poses.len() != model.bodies.len() {
            let message = format!("found {} poses for {} bodies", start.poses.len(), model.bodies.len());
            return Err(ModelError::new("start", "", message));
        }
        let joints = if joints.is_empty() {
            let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |b| start.poses[b]);
            model.joints.iter().map(|joint| joint.spec(&pose(joint.bodies[0]), &pose(joint.bodies[1]))).collect()
        } else {
            joints.to_vec()
        };
        if joints.len() != model.joints.len() {
            let message = format!("found {} descriptions for {} joints", joints.len(), model.joints.len());
            return Err(ModelError::new("joints", "", message));
        }
        let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |b| start.poses[b]);
        let poses = joints.iter().map(|spec| spec.bodies.map(pose)).collect();
        Ok(Names { joints, poses, centre: vec![G::Lin::zero(); model.bodies.len()] })
    }

    /// The names this model has, in the order in which they are documented.
    pub fn keys(&self, model: &Model<G>) -> Vec<String> {
        let mut keys = body::keys(model);
        keys.extend(self.joint_keys());
        keys.extend(shape::keys(model));
        keys
    }

    /// The joints as they are described now, at the start poses.
    pub fn joints(&self) -> &[JointSpec<G>] {
        &self.joints
    }

    /// The array of a name: shape, values, and how its entries move the flat parameters of `layout`.
    ///
    /// # Errors
    /// A name the model does not have, with the nearest one it has.
    pub fn get(&self, model: &Model<G>, layout: &Parameters, key: &str) -> Result<Quantity, NameError> {
        let found = match (key.strip_prefix("joint_"), key.strip_prefix("shape_")) {
            (Some(key), _) => self.joint_quantity(layout, key),
            (_, Some(key)) => shape::quantity(model, layout, key),
            _ => self.body_quantity(model, layout, key),
        };
        // A name without a single row does not exist here.
        found.filter(|quantity| !quantity.is_empty()).ok_or_else(|| NameError::unknown(key, self.keys(model)))
    }

    /// The model with the array of a name set whole, in the order of [`Names::get`]; what is not changed keeps its bits.
    ///
    /// # Errors
    /// An unknown name, a wrong count, a number out of range; then nothing is changed.
    pub fn set(&mut self, model: &Model<G>, key: &str, values: &[f64]) -> Result<Model<G>, NameError> {
        let now = self.get(model, &Parameters::of(model), key)?;
        if values.len() != now.values.len() {
            return Err(NameError::Length { key: key.to_string(), shape: now.shape, found: values.len() });
        }
        let change = quantity::Change { key, now: &now, values };
        change.check_numbers(model)?;
        let mut next = model.clone();
        match (key.strip_prefix("joint_"), key.strip_prefix("shape_")) {
            (Some(key), _) => self.set_joints(&mut next, key, &change)?,
            (_, Some(key)) => shape::set(&mut next, key, &change)?,
            _ => self.set_bodies(&mut next, &change)?,
        }
        Ok(next)
    }

    /// Names of an edited model: what was there before keeps its description and the poses of it, what is new is read off the model at these poses.
    pub fn edited(&self, model: &Model<G>, now: &State<G>, kept: &Kept) -> Self {
        let pose = |body: Option<usize>| body.and_then(|b| now.poses.get(b).copied()).unwrap_or_else(Pose::identity);
        let (mut joints, mut poses) = (Vec::new(), Vec::new());
        for (joint, old) in model.joints.iter().zip(&kept.joints) {
            let here = joint.bodies.map(pose);
            let (mut spec, at) = match old.and_then(|old| Some((self.joints.get(old)?, self.poses.get(old)?))) {
                Some((spec, at)) => (spec.clone(), *at),
                None => (joint.spec(&here[0], &here[1]), here),
            };
            spec.bodies = joint.bodies;
            joints.push(spec);
            poses.push(at);
        }
        let centre = kept.bodies.iter().map(|old| old.and_then(|old| self.centre.get(old).copied()).unwrap_or_else(G::Lin::zero)).collect();
        Names { joints, poses, centre }
    }
}
