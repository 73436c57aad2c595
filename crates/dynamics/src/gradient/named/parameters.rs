//! Every physical parameter of a model as one flat vector: what a gradient is taken with respect to, theory (17.2).

use crate::body_load::Resistances;
use crate::combine::{Coefficient, Coefficients};
use crate::error::ModelError;
use crate::gradient::slots::{inertia, inertia_len, twist};
use crate::islands::PairTable;
use crate::model::Model;
use carom_geometry::Geometry;
use carom_math::Vector;
use std::ops::Range;

/// Where the parameters of a collider stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColliderSlots {
    /// Placement in the body: a shift \[m\], then a turn \[rad\], body axes.
    pub placement: Range<usize>,
    /// Sizes of the shape, in the order of its scene key \[m\].
    pub shape: Range<usize>,
}

/// Where the parameters of a body stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodySlots {
    /// Mass \[kg\].
    pub mass: usize,
    /// Inertia in the body frame, upper triangle by rows [kg m^2].
    pub inertia: Range<usize>,
    /// What it brings to a contact.
    pub surface: Coefficients<usize>,
    /// What resists its motion, one behind the other.
    pub resistances: Resistances<usize>,
    /// Colliders in order.
    pub colliders: Vec<ColliderSlots>,
}

/// Where the parameters of a force stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForceSlots {
    /// Force \[N\], world axes.
    pub force: Range<usize>,
    /// Torque \[N m\], world axes.
    pub torque: Range<usize>,
    /// Point of action \[m\], body frame.
    pub at: Range<usize>,
}

/// Where each parameter of a model stands in the flat vector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters {
    /// Bodies in order.
    pub bodies: Vec<BodySlots>,
    /// Joints in order, each in the order of its own parameters.
    pub joints: Vec<Range<usize>>,
    /// Coefficients of pair rules, where they are given.
    pub pairs: Vec<Coefficients<Option<usize>>>,
    /// Forces in order.
    pub forces: Vec<ForceSlots>,
    /// Gravity [m/s^2].
    pub gravity: Range<usize>,
    /// Step \[s\].
    pub step: usize,
    /// How many there are.
    pub len: usize,
    /// Which rule a pair obeys.
    rules: PairTable,
}

impl Parameters {
    /// The layout of a model.
    pub fn of<G: Geometry>(model: &Model<G>) -> Self {
        let mut len = 0;
        let mut take = |count: usize| {
            len += count;
            len - count..len
        };
        let bodies = model
            .bodies
            .iter()
            .map(|body| BodySlots {
                mass: take(1).start,
                inertia: take(inertia_len(G::ANG)),
                surface: Coefficients::by_key(|_| take(1).start),
                resistances: Resistances::by_key(|_| take(1).start),
                colliders: body
                    .colliders
                    .iter()
                    .map(|c| ColliderSlots { placement: take(G::DOF), shape: take(G::shape_parameters(&c.shape).len()) })
                    .collect(),
            })
            .collect();
        let joints = model.joints.iter().map(|joint| take(joint.parameter_count())).collect();
        let pairs = model.pairs.iter().map(|rule| rule.coefficients.map(|value| value.map(|_| take(1).start))).collect();
        let forces = model.forces.iter().map(|_| ForceSlots { force: take(G::DIM), torque: take(G::ANG), at: take(G::DIM) }).collect();
        let gravity = take(G::DIM);
        let step = take(1).start;
        Parameters { bodies, joints, pairs, forces, gravity, step, len, rules: PairTable::new(model) }
    }

    /// The slot of a coefficient that the rule of two bodies gives.
    fn ruled(&self, [a, b]: [usize; 2], which: Coefficient) -> Option<usize> {
        self.rules.rule_index(a, b).and_then(|rule| self.pairs[rule].list()[which as usize])
    }

    /// Whether a coefficient of two bodies has a slope on both sides by their own.
    pub(crate) fn smooth<G: Geometry>(&self, model: &Model<G>, [a, b]: [usize; 2], which: Coefficient) -> bool {
        self.ruled([a, b], which).is_some() || which.slope(&model.bodies[a], &model.bodies[b]).smooth
    }

    /// The slots that a coefficient of two bodies comes from, with weights: that of their rule, or each body's own as they combine.
    pub(crate) fn coefficient<G: Geometry>(
        &self,
        model: &Model<G>,
        [a, b]: [usize; 2],
        which: Coefficient,
    ) -> impl Iterator<Item = (usize, f64)> + use<G> {
        let own = |body: usize| self.bodies[body].surface.list()[which as usize];
        let found = match self.ruled([a, b], which) {
            Some(slot) => [Some((slot, 1.0)), None],
            None => {
                let [by_a, by_b] = which.slope(&model.bodies[a], &model.bodies[b]).weights;
                [Some((own(a), by_a)), Some((own(b), by_b))]
            }
        };
        found.into_iter().flatten()
    }

    /// The model with its parameters moved by a tangent of `len` numbers: sums, but placements and joint frames move on their manifolds.
    ///
    /// # Errors
    /// A tangent of another length, and one that makes no shape, are refused.
    pub fn perturbed<G: Geometry>(&self, model: &Model<G>, tangent: &[f64]) -> Result<Model<G>, ModelError> {
        if tangent.len() != self.len {
            return Err(ModelError::new("parameters", "", format!("found {} numbers, needs {}", tangent.len(), self.len)));
        }
        let mut out = model.clone();
        for (body, slots) in out.bodies.iter_mut().zip(&self.bodies) {
            body.mass += tangent[slots.mass];
            body.inertia = G::inertia_sum(body.inertia, inertia::<G>(&tangent[slots.inertia.clone()]));
            body.surface.list_mut().into_iter().zip(slots.surface.list()).for_each(|(value, slot)| *value += tangent[slot]);
            body.resistances.list_mut().into_iter().zip(slots.resistances.list()).for_each(|(value, slot)| *value += tangent[slot]);
            for (collider, slots) in body.colliders.iter_mut().zip(&slots.colliders) {
                collider.local = collider.local.advanced(twist::<G>(&tangent[slots.placement.clone()]), 1.0);
                let change = &tangent[slots.shape.clone()];
                if change.iter().any(|&d| d != 0.0) {
                    let sizes: Vec<f64> = G::shape_parameters(&collider.shape).iter().zip(change).map(|(x, d)| x + d).collect();
                    collider.shape = G::with_shape_parameters(&collider.shape, &sizes)
                        .map_err(|error| ModelError::new(format!("body \"{}\"", body.name), "shape", error.to_string()))?;
                }
            }
        }
        for (joint, slots) in out.joints.iter_mut().zip(&self.joints) {
            *joint = joint.perturbed(&tangent[slots.clone()]);
        }
        for (rule, slots) in out.pairs.iter_mut().zip(&self.pairs) {
            for (value, slot) in rule.coefficients.list_mut().into_iter().zip(slots.list()) {
                if let (Some(value), Some(slot)) = (value, slot) {
                    *value += tangent[slot];
                }
            }
        }
        for (force, slots) in out.forces.iter_mut().zip(&self.forces) {
            force.force += G::Lin::from_slice(&tangent[slots.force.clone()]);
            force.torque += G::Ang::from_slice(&tangent[slots.torque.clone()]);
            force.at += G::Lin::from_slice(&tangent[slots.at.clone()]);
        }
        out.gravity += G::Lin::from_slice(&tangent[self.gravity.clone()]);
        out.step += tangent[self.step];
        Ok(out)
    }
}
