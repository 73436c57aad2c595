//! Arrays of bodies, pairs, forces and the scene: `mass`, `inertia`, `centre`, coefficients, `gravity`, `step`.

use super::Names;
use super::error::NameError;
use super::parameters::Parameters;
use super::quantity::{Change, Quantity, Row, axes};
use crate::body_load::Resistances;
use crate::combine::Coefficients;
use crate::constraints::JointParameter;
use crate::model::{BodyKind, Model, within};
use carom_geometry::Geometry;
use carom_math::Vector;

/// The names of this file that a model has.
pub(super) fn keys<G: Geometry>(model: &Model<G>) -> Vec<String> {
    let mut keys = Vec::new();
    let mut add = |there: bool, some: &[&str]| keys.extend(some.iter().filter(|_| there).map(|key| key.to_string()));
    for some in [&["mass", "inertia", "centre"], Coefficients::KEYS, Resistances::KEYS] {
        add(!model.bodies.is_empty(), some);
    }
    add(true, &["gravity", "step"]);
    for (which, key) in Coefficients::KEYS.iter().enumerate() {
        add(model.pairs.iter().any(|p| p.coefficients.list()[which].is_some()), &[&format!("pair_{key}")]);
    }
    add(!model.forces.is_empty(), &["force_force", "force_torque", "force_at"]);
    keys
}

impl<G: Geometry> Names<G> {
    pub(super) fn body_quantity(&self, model: &Model<G>, layout: &Parameters, key: &str) -> Option<Quantity> {
        if let Some(number) = BodyNumber::of(key) {
            let mut out = Quantity::numbers();
            for (b, (body, slots)) in model.bodies.iter().zip(&layout.bodies).enumerate() {
                out.row(Row::Body(b));
                out.entry(number.pick(body.surface, body.resistances), [(number.pick(slots.surface, slots.resistances), 1.0)]);
            }
            return Some(out);
        }
        let pairs = |which: usize| {
            let mut out = Quantity::numbers();
            for (p, (rule, slots)) in model.pairs.iter().zip(&layout.pairs).enumerate() {
                if let (Some(value), Some(slot)) = (rule.coefficients.list()[which], slots.list()[which]) {
                    out.row(Row::Pair(p));
                    out.entry(value, [(slot, 1.0)]);
                }
            }
            out
        };
        Some(match key {
            "mass" => self.masses(model, layout),
            "inertia" => inertias(model, layout),
            "centre" => self.centres(model, layout),
            "force_force" | "force_torque" | "force_at" => forces(model, layout, key),
            "gravity" => {
                let mut out = Quantity::vectors(G::DIM);
                out.row(Row::Scene);
                model.gravity.as_slice().iter().zip(layout.gravity.clone()).for_each(|(g, slot)| out.entry(*g, [(slot, 1.0)]));
                out.single()
            }
            "step" => {
                let mut out = Quantity::numbers();
                out.row(Row::Scene);
                out.entry(model.step, [(layout.step, 1.0)]);
                out.single()
            }
            _ => return of_pairs(key).map(pairs),
        })
    }

    fn masses(&self, model: &Model<G>, layout: &Parameters) -> Quantity {
        let mut out = Quantity::numbers();
        for (b, (body, slots)) in model.bodies.iter().zip(&layout.bodies).enumerate() {
            out.row(Row::Body(b));
            match body.kind {
                BodyKind::Dynamic => out.entry(body.mass, [(slots.mass, 1.0)]),
                _ => out.entry(f64::INFINITY, []),
            }
        }
        out
    }

    /// What moves by minus the centre of mass: placements of shapes, anchors of joints, points of forces.
    fn centres(&self, model: &Model<G>, layout: &Parameters) -> Quantity {
        let mut out = Quantity::vectors(G::DIM);
        let mut terms: Vec<Vec<(usize, f64)>> = vec![Vec::new(); model.bodies.len() * G::DIM];
        for (component, terms) in terms.iter_mut().enumerate() {
            let slots = &layout.bodies[component / G::DIM];
            terms.extend(slots.colliders.iter().map(|c| (c.placement.start + component % G::DIM, -1.0)));
        }
        for (joint, slots) in model.joints.iter().zip(&layout.joints) {
            for (side, body) in joint.bodies.iter().enumerate() {
                for component in 0..G::DIM {
                    if let (Some(b), Some(index)) = (body, joint.parameter_index(JointParameter::Anchor { side, component })) {
                        terms[b * G::DIM + component].push((slots.start + index, -1.0));
                    }
                }
            }
        }
        for (force, slots) in model.forces.iter().zip(&layout.forces) {
            for component in 0..G::DIM {
                terms[force.body * G::DIM + component].push((slots.at.start + component, -1.0));
            }
        }
        for (b, body) in model.bodies.iter().enumerate() {
            out.row(Row::Body(b));
            for component in 0..G::DIM {
                let moves = body.kind == BodyKind::Dynamic;
                let terms = std::mem::take(&mut terms[b * G::DIM + component]);
                out.entry(self.centre[b][component], terms.into_iter().filter(|_| moves));
            }
        }
        out
    }

    pub(super) fn set_bodies(&mut self, model: &mut Model<G>, change: &Change<'_>) -> Result<(), NameError> {
        let mut centre = self.centre.clone();
        for (row, old, new) in change.rows() {
            check_range(model, change, row, new)?;
            match (row, change.key) {
                (Row::Body(b), "mass") => model.bodies[b].mass = new[0],
                (Row::Body(b), "inertia") => {
                    model.bodies[b].inertia = with_moments::<G>(model.bodies[b].inertia, old, new);
                    if G::inertia_invert(model.bodies[b].inertia).is_none() && !model.bodies[b].locked_rotation {
                        return Err(change.fault(model, row, "needs to be positive definite"));
                    }
                }
                (Row::Body(b), "centre") => {
                    let (from, to) = (centre[b], G::Lin::from_slice(new));
                    shift(model, b, to - from);
                    centre[b] = to;
                }
                (Row::Body(b), key) => match BodyNumber::of(key) {
                    Some(BodyNumber::Surface(place)) => *model.bodies[b].surface.list_mut()[place] = new[0],
                    Some(BodyNumber::Resistance(place)) => *model.bodies[b].resistances.list_mut()[place] = new[0],
                    None => (),
                },
                (Row::Pair(p), key) => {
                    of_pairs(key).into_iter().for_each(|which| *model.pairs[p].coefficients.list_mut()[which] = Some(new[0]));
                }
                (Row::Force(f), "force_force") => model.forces[f].force = G::Lin::from_slice(new),
                (Row::Force(f), "force_torque") => model.forces[f].torque = G::Ang::from_slice(new),
                (Row::Force(f), "force_at") => model.forces[f].at = G::Lin::from_slice(new),
                (Row::Scene, "gravity") => model.gravity = G::Lin::from_slice(new),
                (Row::Scene, "step") => model.step = new[0],
                _ => (),
            }
        }
        self.centre = centre;
        Ok(())
    }

    /// How far the centre of a body has been moved \[m\], body frame.
    pub(super) fn shifted(&self, body: Option<usize>) -> G::Lin {
        body.map_or_else(G::Lin::zero, |b| self.centre[b])
    }
}

/// Moves the centre of mass of a body with its pose held.
fn shift<G: Geometry>(model: &mut Model<G>, body: usize, by: G::Lin) {
    model.bodies[body].colliders.iter_mut().for_each(|c| c.local.position -= by);
    for joint in &mut model.joints {
        for side in 0..2 {
            if joint.bodies[side] == Some(body) {
                joint.anchors[side] -= by;
            }
        }
    }
    model.forces.iter_mut().filter(|f| f.body == body).for_each(|f| f.at -= by);
}

fn check_range<G: Geometry>(model: &Model<G>, change: &Change<'_>, row: Row, new: &[f64]) -> Result<(), NameError> {
    let fits = |x: &f64| match change.key {
        "mass" | "step" if x.is_nan() || *x <= 0.0 => Err(format!("found {x}, needs a number above 0")),
        "inertia" if x.is_nan() || *x < 0.0 => Err(format!("found {x}, needs a number >= 0")),
        key => within(key, *x),
    };
    new.iter().try_for_each(fits).map_err(|fault| change.fault(model, row, fault))
}

/// A coefficient or a resistance of a body, by its place.
#[derive(Clone, Copy)]
enum BodyNumber {
    Surface(usize),
    Resistance(usize),
}

impl BodyNumber {
    fn of(key: &str) -> Option<Self> {
        Coefficients::place(key).map(BodyNumber::Surface).or_else(|| Resistances::place(key).map(BodyNumber::Resistance))
    }
    fn pick<T: Copy>(self, surface: Coefficients<T>, resistances: Resistances<T>) -> T {
        match self {
            BodyNumber::Surface(place) => surface.list()[place],
            BodyNumber::Resistance(place) => resistances.list()[place],
        }
    }
}

/// Which coefficient a key of pairs names.
fn of_pairs(key: &str) -> Option<usize> {
    Coefficients::place(key.strip_prefix("pair_")?)
}

fn forces<G: Geometry>(model: &Model<G>, layout: &Parameters, key: &str) -> Quantity {
    let rate = || if G::ANG == 1 { Quantity::numbers() } else { Quantity::vectors(G::ANG) };
    let mut out = if key == "force_torque" { rate() } else { Quantity::vectors(G::DIM) };
    for (f, (force, slots)) in model.forces.iter().zip(&layout.forces).enumerate() {
        out.row(Row::Force(f));
        let (values, slots) = match key {
            "force_force" => (force.force.as_slice(), slots.force.clone()),
            "force_torque" => (force.torque.as_slice(), slots.torque.clone()),
            _ => (force.at.as_slice(), slots.at.clone()),
        };
        values.iter().zip(slots).for_each(|(value, slot)| out.entry(*value, [(slot, 1.0)]));
    }
    out
}

/// Principal moments; a change of one moves I by q q' along its axis q.
fn inertias<G: Geometry>(model: &Model<G>, layout: &Parameters) -> Quantity {
    let mut out = if G::ANG == 1 { Quantity::numbers() } else { Quantity::new(axes(G::ANG), &[G::ANG]) };
    for (b, (body, slots)) in model.bodies.iter().zip(&layout.bodies).enumerate() {
        out.row(Row::Body(b));
        if body.kind != BodyKind::Dynamic {
            (0..G::ANG).for_each(|_| out.entry(f64::INFINITY, []));
            continue;
        }
        let (moments, axes) = principal::<G>(body.inertia);
        for k in 0..G::ANG {
            let mut slot = slots.inertia.start;
            let mut terms = Vec::with_capacity(slots.inertia.len());
            for i in 0..G::ANG {
                for j in i..G::ANG {
                    terms.push((slot, axes[i * G::ANG + k] * axes[j * G::ANG + k]));
                    slot += 1;
                }
            }
            out.entry(moments[k], terms);
        }
    }
    out
}

/// The inertia with other principal moments about the same axes.
fn with_moments<G: Geometry>(inertia: G::Inertia, old: &[f64], new: &[f64]) -> G::Inertia {
    let rows = G::inertia_rows(inertia);
    let n = G::ANG;
    if (0..n * n).all(|k| k / n == k % n || rows[k] == 0.0) {
        return G::inertia_from_moments(new);
    }
    let (_, axes) = principal::<G>(inertia);
    let mut out = rows;
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                out[i * n + j] += (new[k] - old[k]) * axes[i * n + k] * axes[j * n + k];
            }
        }
    }
    G::inertia_from_rows(&out)
}

/// Sweeps of Jacobi rotations; four settle a matrix of three rows to rounding, and a diagonal one is left as it is.
const SWEEPS: usize = 12;

/// Principal moments and axes (by columns), in the order of the body's axes they are nearest to: cyclic Jacobi rotations.
fn principal<G: Geometry>(inertia: G::Inertia) -> (Vec<f64>, Vec<f64>) {
    let n = G::ANG;
    let mut a = G::inertia_rows(inertia);
    let mut axes = vec![0.0; n * n];
    (0..n).for_each(|k| axes[k * n + k] = 1.0);
    for _ in 0..SWEEPS {
        for p in 0..n {
            for q in p + 1..n {
                let off = a[p * n + q];
                if off == 0.0 {
                    continue;
                }
                let ratio = (a[q * n + q] - a[p * n + p]) / (2.0 * off);
                let tangent = ratio.signum() / (ratio.abs() + (ratio * ratio + 1.0).sqrt());
                let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                let sine = tangent * cosine;
                for k in 0..n {
                    let (x, y) = (a[k * n + p], a[k * n + q]);
                    (a[k * n + p], a[k * n + q]) = (cosine * x - sine * y, sine * x + cosine * y);
                    let (x, y) = (axes[k * n + p], axes[k * n + q]);
                    (axes[k * n + p], axes[k * n + q]) = (cosine * x - sine * y, sine * x + cosine * y);
                }
                for k in 0..n {
                    let (x, y) = (a[p * n + k], a[q * n + k]);
                    (a[p * n + k], a[q * n + k]) = (cosine * x - sine * y, sine * x + cosine * y);
                }
                (a[p * n + q], a[q * n + p]) = (0.0, 0.0);
            }
        }
    }
    ((0..n).map(|k| a[k * n + k]).collect(), axes)
}
