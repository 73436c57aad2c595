//! Contacts in joint coordinates: what they carry, and what they do to accelerations, theory (20.17)-(20.20).

use super::closing::least;
use super::dynamics::{Loops, Moment};
use super::tree::Carrier;
use crate::combine::Coefficient;
use crate::contacts::{arms, placed};
use crate::error::ModelError;
use crate::model::Model;
use carom_geometry::{ContactDerivative, ContactMotion, Geometry};
use carom_math::{Twist, Vector, Wrench};
use carom_solve::contact::given::Given;
use carom_solve::contact::law::{Law, Round};
use carom_solve::contact::solver::Solver;
use carom_solve::contact::task::Task;
use carom_solve::interrupt::Interrupt;
use nalgebra::{DMatrix, DVector};

/// Relative residual asked of the contact problem, and the largest with which its answer is taken.
const AIM: [f64; 2] = [1e-12, 1e-6];
/// Rounds in which the friction of sliding contacts follows their normal forces.
const ROUNDS: usize = 200;
/// Change of these frictions, over the largest force, at which they stand.
const STANDS: f64 = 1e-14;
/// Normal force, over the largest, below which a contact is idle; and the distance from the cone at which one sticks.
const IDLE: f64 = 1e-9;
/// Difference of the equalities of active contacts from the solve, over the accelerations, up to which they say the same more exactly.
const SAME: f64 = 1e-5;
/// Own answer of a normal force, over the largest, below which nothing yields to it.
const RIGID: f64 = 1e-12;
/// Alternating projections on what is wanted and on the cones.
const PROJECTIONS: usize = 5000;
/// Distance from the cones, over the largest force, at which forces count as within them.
const WITHIN: f64 = 1e-10;

/// A contact that may push.
struct Touch {
    friction: f64,
    /// Direction of its friction along the tangents, where it slips.
    slips: Option<[f64; 2]>,
}

/// Contacts that touched in the last step and do not part, with their rows: normal, then tangents, contact by contact.
pub(super) struct Holding {
    touches: Vec<Touch>,
    /// Forces on the coordinates of unit forces along the rows, one a column.
    columns: DMatrix<f64>,
    /// What the rows gain of speed while the rates stay.
    drift: DVector<f64>,
}

fn pair_friction<G: Geometry>(model: &Model<G>, [i, j]: [usize; 2]) -> f64 {
    let rule = model.pairs.iter().find(|rule| rule.bodies == [i, j] || rule.bodies == [j, i]);
    rule.and_then(|rule| rule.coefficients.friction).unwrap_or_else(|| Coefficient::Friction.of_two(&model.bodies[i], &model.bodies[j]))
}

/// The forces of a row less those of other units: normal, and tangents by a direction.
fn along(columns: &DMatrix<f64>, first: usize, parts: &[f64]) -> DVector<f64> {
    let mut out = DVector::zeros(columns.nrows());
    for (k, part) in parts.iter().enumerate() {
        out.axpy(*part, &columns.column(first + k), 1.0);
    }
    out
}

impl<G: Geometry> Moment<'_, G> {
    /// Rows a contact has.
    const WIDTH: usize = 1 + G::TANGENTS;

    /// The contacts that pushed in the last step and still touch.
    pub fn holding(&self) -> Holding {
        let world = self.world;
        let (model, poses, rest) = (world.model(), &world.state().poses, world.model().tolerances.rest_speed);
        let curved = self.curved();
        let (mut touches, mut columns, mut drift) = (Vec::new(), Vec::new(), Vec::new());
        for report in &world.past.reports {
            let (key, now) = (&report.key, world.contact_now(&report.key));
            let [a, b] = key.bodies;
            let arm = arms(&now, [poses[a].position, poses[b].position]);
            let slip = self.twists[a].at(arm[0]) - self.twists[b].at(arm[1]);
            if report.impulse.dot(now.normal) <= 0.0 || slip.dot(now.normal) > rest {
                continue;
            }
            // How the contact wanders over both bodies, theory (20.18).
            let frames: [_; 2] = std::array::from_fn(|side| placed(model, key.bodies[side], key.colliders[side], &poses[key.bodies[side]]));
            let moved: [Twist<G>; 2] = std::array::from_fn(|side| {
                let body = key.bodies[side];
                let twist = self.twists[body];
                Twist { lin: twist.at(frames[side].position - poses[body].position), ang: twist.ang }
            });
            let [one, two] = std::array::from_fn(|side| &model.bodies[key.bodies[side]].colliders[key.colliders[side]].shape);
            let change = G::derivative(key.feature, one, &frames[0], two, &frames[1]).tangent(&ContactMotion::of_poses(moved[0], moved[1]));
            let middle = (change.point_a + change.point_b) * 0.5;
            let gained: [G::Lin; 2] = std::array::from_fn(|side| {
                let twist = &self.twists[key.bodies[side]];
                curved[key.bodies[side]].at(arm[side]) + G::spin(twist.ang, middle - twist.lin)
            });
            let (tangents, turning) = (G::tangents(now.normal), G::tangents_derivative(now.normal, change.normal));
            let directions = std::iter::once((now.normal, change.normal)).chain(tangents.into_iter().zip(turning)).take(Self::WIDTH);
            for (direction, turned) in directions {
                let mut row = vec![0.0; self.tree.len()];
                for (body, sign) in [(a, 1.0), (b, -1.0)] {
                    let arm = if body == a { arm[0] } else { arm[1] };
                    self.map.pull_back(body, &Wrench::along(direction, arm), sign, &mut row);
                }
                columns.extend(row);
                drift.push(direction.dot(gained[0] - gained[1]) + turned.dot(slip));
            }
            let across = slip - now.normal * slip.dot(now.normal);
            let speed = across.norm();
            let friction = pair_friction(model, key.bodies);
            let slips = (speed > rest && friction > 0.0).then(|| {
                let mut parts = [0.0; 2];
                (0..G::TANGENTS).for_each(|k| parts[k] = -tangents[k].dot(across) / speed);
                parts
            });
            touches.push(Touch { friction, slips });
        }
        let count = touches.len() * Self::WIDTH;
        Holding { touches, columns: DMatrix::from_vec(self.tree.len(), count, columns), drift: DVector::from_vec(drift) }
    }

    /// Adds what contacts do to accelerations: forces that push, within the cones of friction, and open no contact that they push, theory (20.19).
    ///
    /// # Errors
    /// No such forces were found.
    pub fn push_off(&self, loops: &Loops, acceleration: &mut DVector<f64>) -> Result<(), ModelError> {
        let Holding { mut touches, columns, drift } = self.holding();
        if touches.is_empty() {
            return Ok(());
        }
        let (width, count) = (Self::WIDTH, touches.len());
        let mut answers = loops.mass.solve(&columns);
        for mut answer in answers.column_iter_mut() {
            let mut own = answer.clone_owned();
            loops.close(&mut own, false);
            answer.copy_from(&own);
        }
        let matrix = {
            let whole = columns.tr_mul(&answers);
            (&whole + whole.transpose()) * 0.5
        };
        let free = columns.tr_mul(acceleration) + drift;
        // What nothing yields to is held by others.
        let softest = (0..count).fold(0.0f64, |most, i| most.max(matrix[(i * width, i * width)]));
        let yields: Vec<bool> = (0..count).map(|i| matrix[(i * width, i * width)] > RIGID * softest).collect();
        if softest <= 0.0 {
            return Ok(());
        }
        let kept: Vec<usize> = (0..count).filter(|&i| yields[i]).flat_map(|i| (0..width).map(move |k| i * width + k)).collect();
        let (matrix, free) = (matrix.select_rows(&kept).select_columns(&kept), free.select_rows(&kept));
        let (columns, answers) = (columns.select_columns(&kept), answers.select_columns(&kept));
        let mut each = yields.iter();
        touches.retain(|_| each.next().copied().unwrap_or(false));

        let forces = solved(&touches, &matrix, &free, width)?;
        let found = &*acceleration + &answers * &forces;
        *acceleration = sharpened(&touches, (&matrix, &free), &forces, &answers, &found, acceleration).unwrap_or(found);
        debug_assert_eq!(columns.ncols(), forces.len());
        Ok(())
    }

    /// Takes off what contacts carry: the least forces within the cones of friction that leave nothing on free roots, theory (20.20). Where there are none the
    /// least that push are taken, and one that would have to pull is let go.
    pub fn lean_on_contacts(&self, out: &mut [f64]) {
        let free = |carrier: &Carrier| match carrier {
            Carrier::Free { first, axes } => *first..first + axes.len(),
            _ => 0..0,
        };
        let roots: Vec<usize> = self.tree.carriers.iter().flat_map(free).collect();
        let Holding { touches, columns, .. } = self.holding();
        if touches.is_empty() || roots.is_empty() {
            return;
        }
        // One that slips has one force, along its friction; others have all rows.
        let mut units: Vec<(usize, f64, usize)> = Vec::new();
        let mut carried: Vec<DVector<f64>> = Vec::new();
        for (i, touch) in touches.iter().enumerate() {
            let first = i * Self::WIDTH;
            match touch.slips {
                Some(direction) => {
                    let parts: Vec<f64> = std::iter::once(1.0).chain(direction.map(|d| touch.friction * d)).take(Self::WIDTH).collect();
                    units.push((carried.len(), 0.0, 1));
                    carried.push(along(&columns, first, &parts));
                }
                None => {
                    let width = if touch.friction > 0.0 { Self::WIDTH } else { 1 };
                    units.push((carried.len(), touch.friction, width));
                    carried.extend((0..width).map(|k| columns.column(first + k).clone_owned()));
                }
            }
        }
        let wanted = DVector::from_iterator(roots.len(), roots.iter().map(|&i| out[i]));
        while !units.is_empty() {
            let whole = DMatrix::from_columns(&carried);
            let matrix = whole.select_rows(&roots);
            let forces = least(&matrix, &wanted, 0.0);
            let forces = within_cones(&matrix, &units, forces.clone()).unwrap_or(forces);
            let weakest = (0..units.len()).min_by(|&i, &j| forces[units[i].0].total_cmp(&forces[units[j].0])).unwrap_or(0);
            let (first, _, width) = units[weakest];
            if forces[first] < -WITHIN * forces.amax() {
                units.remove(weakest);
                carried.drain(first..first + width);
                units.iter_mut().filter(|unit| unit.0 > first).for_each(|unit| unit.0 -= width);
                continue;
            }
            let held = whole * forces;
            out.iter_mut().zip(held.iter()).for_each(|(out, held)| *out -= held);
            return;
        }
    }
}

/// Forces that obey Coulomb's law on accelerations: those of contacts that stick by the contact solver, friction of those that slip after their normal forces.
fn solved(touches: &[Touch], matrix: &DMatrix<f64>, free: &DVector<f64>, width: usize) -> Result<DVector<f64>, ModelError> {
    let laws: Vec<Law> = touches
        .iter()
        .map(|touch| Law::Round(Round { friction: if touch.slips.is_some() { 0.0 } else { touch.friction }, tangents: width - 1 }))
        .collect();
    let mut system = Given::default();
    system.read_dense(std::iter::repeat_n(width, touches.len()), matrix.as_slice());
    let mut solver = Solver::default();
    let mut dragged = DVector::zeros(free.len());
    let mut forces = vec![0.0; free.len()];
    let refused = |what: String| ModelError::new("contacts", "", what);
    for _ in 0..ROUNDS {
        let now = free + matrix * &dragged;
        let largest = now.amax();
        let task = Task { scale: if largest > 0.0 { largest } else { 1.0 }, ..Task::new(&laws, now.as_slice(), AIM[0]) };
        let warm = forces.clone();
        let answer = solver.solve(&mut system, &task, Some(&warm), false, &Interrupt::NEVER, &mut forces);
        if answer.residual > AIM[1] {
            return Err(refused(format!("no forces hold them: Coulomb's law is missed by {:.1e} of the accelerations", answer.residual)));
        }
        let mut next = DVector::zeros(free.len());
        for (i, touch) in touches.iter().enumerate() {
            if let Some(direction) = touch.slips {
                (1..width).for_each(|k| next[i * width + k] = touch.friction * direction[k - 1] * forces[i * width]);
            }
        }
        let change = (&next - &dragged).amax();
        dragged = next;
        let most = forces.iter().fold(0.0f64, |most, f| most.max(f.abs()));
        if change <= STANDS * most {
            return Ok(DVector::from_vec(forces) + dragged);
        }
    }
    Err(refused("the friction of contacts that slip does not settle: they wedge".to_string()))
}

/// The same accelerations once more, as equalities of the contacts that push: exact where the solve has rounding. `None` where they are not the same.
fn sharpened(
    touches: &[Touch],
    (matrix, free): (&DMatrix<f64>, &DVector<f64>),
    forces: &DVector<f64>,
    answers: &DMatrix<f64>,
    found: &DVector<f64>,
    before: &DVector<f64>,
) -> Option<DVector<f64>> {
    let width = free.len() / touches.len();
    let most = forces.amax();
    let (mut rows, mut units) = (Vec::new(), Vec::new());
    for (i, touch) in touches.iter().enumerate() {
        let first = i * width;
        let normal = forces[first];
        if normal <= IDLE * most {
            continue;
        }
        let across: Vec<f64> = (1..width).map(|k| forces[first + k]).collect();
        let size = across.iter().map(|x| x * x).sum::<f64>().sqrt();
        let mut unit = DVector::zeros(free.len());
        unit[first] = 1.0;
        rows.push(first);
        if touch.friction > 0.0 && touch.slips.is_none() && size < touch.friction * normal * (1.0 - IDLE) {
            units.push(unit);
            for k in 1..width {
                let mut unit = DVector::zeros(free.len());
                unit[first + k] = 1.0;
                units.push(unit);
                rows.push(first + k);
            }
        } else {
            (1..width).for_each(|k| unit[first + k] = across[k - 1] / normal);
            units.push(unit);
        }
    }
    if units.is_empty() {
        return None;
    }
    let units = DMatrix::from_columns(&units);
    let (reached, asked) = ((matrix * &units).select_rows(&rows), free.select_rows(&rows));
    let mut sizes = DVector::zeros(units.ncols());
    // Once for the answer, once for its rounding.
    for _ in 0..2 {
        let open = &asked + &reached * &sizes;
        sizes -= least(&reached, &open, 0.0);
    }
    let sharp = before + answers * (&units * sizes);
    let unit = 1.0 + found.amax();
    ((&sharp - found).amax() <= SAME * unit).then_some(sharp)
}

/// The least forces within cones that do to the roots what `forces` do, by Dykstra's alternating projections; `None` where there are none.
fn within_cones(matrix: &DMatrix<f64>, units: &[(usize, f64, usize)], forces: DVector<f64>) -> Option<DVector<f64>> {
    let inside = |forces: &DVector<f64>| (projected(units, forces) - forces).amax() <= WITHIN * forces.amax();
    if inside(&forces) {
        return Some(forces);
    }
    let wanted = matrix * &forces;
    let inverse = matrix.clone().pseudo_inverse(RIGID * matrix.amax()).ok()?;
    let mut x = forces;
    let mut left = DVector::zeros(x.len());
    for _ in 0..PROJECTIONS {
        let moved = &x + &left;
        let cone = projected(units, &moved);
        left = moved - &cone;
        x = &cone + &inverse * (&wanted - matrix * &cone);
        if inside(&x) {
            return Some(x);
        }
    }
    None
}

/// The nearest forces that push and lie within the cones.
fn projected(units: &[(usize, f64, usize)], forces: &DVector<f64>) -> DVector<f64> {
    let mut out = forces.clone();
    for &(first, friction, width) in units {
        let normal = forces[first];
        let size = (1..width).map(|k| forces[first + k] * forces[first + k]).sum::<f64>().sqrt();
        if size <= friction * normal {
            continue;
        }
        // Onto the cone, or to its tip.
        let along = ((normal + friction * size) / (1.0 + friction * friction)).max(0.0);
        out[first] = along;
        (1..width).for_each(|k| out[first + k] = if size > 0.0 { forces[first + k] * (friction * along / size) } else { 0.0 });
    }
    out
}
