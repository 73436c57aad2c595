//! The printed methods beside the engine's on the same islands: the joints of a step solved whole, over split bodies, and with a sliding contact inserted
//! by unsymmetric columns, against the step itself, which keeps hubs of trees as nodes, cuts those that loops close over, and inserts contacts along paths.

use super::insertion::lower;
use crate::random::Random;
use crate::report::digits;
use crate::{Chart, Failure, Report, Style};
use carom::dynamics::World;
use carom::dynamics::constraints::{MAX_ROWS, Row};
use carom::math::bordered::{Form, InsertedFactor};
use carom::math::ldl::Order;
use carom::math::splitting::{SPATIAL_WELD, split};
use carom::math::{Pose, Space, Spatial, Twist, Vector};
use carom::{Scene, from_toml};
use nalgebra::{DMatrix, DVector};
use std::fmt::Write as _;
use std::time::Instant;

const STEP: f64 = 0.01;
const FRICTION: f64 = 0.3;
/// Velocities that differ by more are not the same.
const SAME: f64 = 1e-9;
/// The scheme whose step is one solve of the joints and contacts at the start pose.
const HEAD: &str = "dimension = 3\nintegrator = \"euler\"\nimpact = \"newton\"\ntime_of_impact = \"halving\"\n";

/// A hub with spokes on hinges, forces on the spokes; all inertias are round, for the printed problem has no gyroscopic torque. With `closed`, neighbours are held apart by rods, so that loops close over the hub.
fn wheel(spokes: usize, closed: bool) -> String {
    let mut random = Random::new(spokes as u64);
    let mut text = format!("{HEAD}step = {STEP}\ngravity = [0, 0, 0]\n[[body]]\nname = \"hub\"\nmass = 5\ninertia = [2, 2, 2]\n");
    let place = |k: usize, r: f64| {
        let (sin, cos) = (k as f64 * std::f64::consts::TAU / spokes as f64).sin_cos();
        [r * cos, r * sin, 0.1 * (k % 3) as f64]
    };
    for k in 0..spokes {
        let mut three = |low: f64, high: f64| [0; 3].map(|_| random.between(low, high));
        let (force, torque, axis) = (three(-1.0, 1.0), three(-1.0, 1.0), three(-1.0, 1.0));
        let _ = write!(
            text,
            "[[body]]\nname = \"s{k}\"\nmass = 1\ninertia = [0.12, 0.12, 0.12]\nposition = {:?}\n\
             [[force]]\nbody = \"s{k}\"\nforce = {force:?}\ntorque = {torque:?}\n\
             [[joint]]\nkind = \"hinge\"\nbetween = [\"s{k}\", \"hub\"]\nanchor = {:?}\naxis = {axis:?}\n",
            place(k, 1.5),
            place(k, 1.0),
        );
    }
    for k in (0..spokes).step_by(2).filter(|_| closed) {
        let (a, b) = (place(k, 1.7), place(k + 1, 1.7));
        let _ = write!(text, "[[joint]]\nkind = \"distance\"\nbetween = [\"s{k}\", \"s{}\"]\nanchors = [{a:?}, {b:?}]\n", k + 1);
    }
    text
}

/// A chain of links in one vertical plane whose last one, a ball, slides along the ground.
fn sliding(links: usize) -> String {
    const RADIUS: f64 = 0.2;
    let mut text = format!(
        "{HEAD}step = {STEP}\n[[body]]\nname = \"ground\"\nkind = \"static\"\nshape = {{ half_space = [0, 0, 1] }}\nfriction = {FRICTION}\n"
    );
    let place = |k: usize| [k as f64, 0.0, RADIUS + 0.5 * (links - 1 - k) as f64];
    for k in 0..links {
        let last = if k + 1 == links { format!("shape = {{ ball = {RADIUS} }}\n") } else { "mask = []\n".to_string() };
        let _ = write!(
            text,
            "[[body]]\nname = \"s{k}\"\nmass = 1\ninertia = [0.1, 0.2, 0.15]\nposition = {:?}\nvelocity = [2, 0, 0]\nfriction = {FRICTION}\n{last}",
            place(k)
        );
        if k > 0 {
            let (a, b) = (place(k - 1), place(k));
            let middle = [0, 1, 2].map(|i| (a[i] + b[i]) / 2.0);
            let _ =
                write!(text, "[[joint]]\nkind = \"hinge\"\nbetween = [\"s{}\", \"s{k}\"]\nanchor = {middle:?}\naxis = [0, 1, 0]\n", k - 1);
        }
    }
    text
}

/// The joints of a step as matrices: rows, inverse masses, the velocity without them.
struct Island {
    world: World<Spatial>,
    /// Rows over all bodies that move.
    rows: DMatrix<f64>,
    /// Bodies at the sides of each row.
    sides: Vec<[Option<usize>; 2]>,
    /// Inverse mass matrix, block by block.
    inverse: DMatrix<f64>,
    free: DVector<f64>,
    /// Bodies before the first that moves.
    fixed: usize,
}

const DOF: usize = Spatial::DOF;

impl Island {
    fn of(text: &str) -> Result<Self, Failure> {
        let Scene::Spatial(scene) = from_toml(text, "island.toml")? else { return Err("a spatial scene".into()) };
        let world = World::new(scene.model, scene.state)?;
        let (model, state) = (world.model(), world.state());
        let fixed = model.bodies.iter().take_while(|b| !b.mass.is_finite() || b.kind == carom::dynamics::BodyKind::Static).count();
        let size = (model.bodies.len() - fixed) * DOF;
        let mut inverse = DMatrix::zeros(size, size);
        let mut free = DVector::zeros(size);
        for (k, (body, twist)) in model.bodies.iter().zip(&state.twists).enumerate().skip(fixed) {
            let at = (k - fixed) * DOF;
            let turned = Spatial::inertia_world(body.inertia, state.poses[k].rotation);
            let rows = Spatial::inertia_rows(Spatial::inertia_invert(turned).ok_or("an inertia")?);
            let (mut force, mut torque) = (model.gravity * body.mass, <Spatial as Space>::Ang::zero());
            for load in model.forces.iter().filter(|load| load.body == k) {
                force += load.force;
                torque += load.torque;
            }
            for i in 0..3 {
                inverse[(at + i, at + i)] = 1.0 / body.mass;
                (0..3).for_each(|j| inverse[(at + 3 + i, at + 3 + j)] = rows[3 * i + j]);
                (free[at + i], free[at + 3 + i]) = (twist.lin[i], twist.ang[i]);
            }
            let load = DVector::from_iterator(DOF, force.as_slice().iter().chain(torque.as_slice()).copied());
            let kick = inverse.view((at, at), (DOF, DOF)) * load * STEP;
            free.rows_mut(at, DOF).zip_apply(&kick, |x, d| *x += d);
        }
        let (mut lines, mut sides) = (Vec::new(), Vec::new());
        for joint in &model.joints {
            let pose = |body: Option<usize>| body.map_or_else(Pose::identity, |b| state.poses[b]);
            let mut rows = [Row::<Spatial>::zero(); MAX_ROWS];
            joint.rows(&pose(joint.bodies[0]), &pose(joint.bodies[1]), &mut rows);
            for row in &rows[..joint.row_count()] {
                let mut line = DVector::zeros(size);
                for (body, wrench) in joint.bodies.into_iter().zip([row.a, row.b]) {
                    if let Some(body) = body {
                        let numbers = wrench.lin.as_slice().iter().chain(wrench.ang.as_slice());
                        line.rows_mut((body - fixed) * DOF, DOF).iter_mut().zip(numbers).for_each(|(x, y)| *x = *y);
                    }
                }
                lines.push(line.transpose());
                sides.push(joint.bodies.map(|body| body.map(|b| b - fixed)));
            }
        }
        Ok(Island { rows: DMatrix::from_rows(&lines), sides, inverse, free, fixed, world })
    }

    /// What the engine makes of it in one step, and how long that takes.
    fn step(&mut self) -> Result<(DVector<f64>, f64), Failure> {
        let start = self.world.snapshot();
        let mut took = f64::INFINITY;
        for _ in 0..ROUNDS {
            self.world.restore(&start)?;
            let clock = Instant::now();
            self.world.step()?;
            took = took.min(clock.elapsed().as_secs_f64());
        }
        let twists = &self.world.state().twists[self.fixed..];
        let all = twists.iter().flat_map(|t| t.lin.as_slice().iter().chain(t.ang.as_slice()).copied().collect::<Vec<_>>());
        Ok((DVector::from_iterator(twists.len() * DOF, all), took))
    }

    /// v + M^-1 J' λ with J M^-1 J' λ = -J v, by the factor of the whole matrix.
    fn whole(&self) -> Result<(DVector<f64>, f64), Failure> {
        solved(&self.rows, &self.inverse, &self.free)
    }

    /// The same with the first body cut into welded parts by the table of appendix B.
    fn parts(&self) -> Result<(DVector<f64>, f64, usize), Failure> {
        let count = self.sides.iter().filter(|s| s.contains(&Some(0))).count();
        let parts = split(count)?.parts;
        let extra = (parts.len() - 1) * DOF;
        let (rows, size) = self.rows.shape();
        let welds = SPATIAL_WELD * (parts.len() - 1);
        // The parts stand where the hub stood, the other bodies behind them.
        let mut jacobian = DMatrix::zeros(rows + welds, size + extra);
        let homes: Vec<usize> = parts.iter().enumerate().flat_map(|(part, n)| std::iter::repeat_n(part, *n)).collect();
        let mut taken = 0;
        for row in 0..rows {
            jacobian.view_mut((row, DOF + extra), (1, size - DOF)).copy_from(&self.rows.view((row, DOF), (1, size - DOF)));
            if self.sides[row].contains(&Some(0)) {
                jacobian.view_mut((row, DOF * homes[taken]), (1, DOF)).copy_from(&self.rows.view((row, 0), (1, DOF)));
                taken += 1;
            }
        }
        for weld in 0..parts.len() - 1 {
            for k in 0..SPATIAL_WELD {
                jacobian[(rows + SPATIAL_WELD * weld + k, DOF * weld + k)] = 1.0;
                jacobian[(rows + SPATIAL_WELD * weld + k, DOF * (weld + 1) + k)] = -1.0;
            }
        }
        let mut inverse = DMatrix::zeros(size + extra, size + extra);
        let mut free = DVector::zeros(size + extra);
        for part in 0..parts.len() {
            let own = self.inverse.view((0, 0), (DOF, DOF)) * parts.len() as f64;
            inverse.view_mut((DOF * part, DOF * part), (DOF, DOF)).copy_from(&own);
            free.rows_mut(DOF * part, DOF).copy_from(&self.free.rows(0, DOF));
        }
        inverse
            .view_mut((DOF + extra, DOF + extra), (size - DOF, size - DOF))
            .copy_from(&self.inverse.view((DOF, DOF), (size - DOF, size - DOF)));
        free.rows_mut(DOF + extra, size - DOF).copy_from(&self.free.rows(DOF, size - DOF));
        let (all, took) = solved(&jacobian, &inverse, &free)?;
        // The last part stands for all.
        Ok((all.rows(extra, size).into_owned(), took, parts.len()))
    }
}

const ROUNDS: usize = 3;

fn solved(rows: &DMatrix<f64>, inverse: &DMatrix<f64>, free: &DVector<f64>) -> Result<(DVector<f64>, f64), Failure> {
    let reach = inverse * rows.transpose();
    let entries = lower(&(rows * &reach));
    let right = rows * free;
    let mut took = f64::INFINITY;
    let mut impulses = Vec::new();
    for _ in 0..ROUNDS {
        let clock = Instant::now();
        let factor = InsertedFactor::from_lower(rows.nrows(), &entries, Order::MinimumDegree)?;
        impulses = factor.solve(right.as_slice())?;
        took = took.min(clock.elapsed().as_secs_f64());
    }
    Ok((free - reach * DVector::from_vec(impulses), took))
}

/// The sliding contact inserted into the factor of the joints as appendix C prints it: its friction is in the column, not in the row.
fn inserted(island: &Island, form: Form) -> Result<(DVector<f64>, f64), Failure> {
    let (rows, inverse, free) = (&island.rows, &island.inverse, &island.free);
    let last = free.len() / DOF - 1;
    let along = |direction: [f64; 3]| {
        let direction: <Spatial as Space>::Lin = Vector::from_slice(&direction);
        let arm: <Spatial as Space>::Lin = Vector::from_slice(&[0.0, 0.0, -0.2]);
        let unit = |k: usize| {
            let mut twist = Twist::<Spatial>::zero();
            if k < 3 {
                twist.lin[k] = 1.0
            } else {
                twist.ang[k - 3] = 1.0
            }
            direction.dot(twist.at(arm))
        };
        DVector::from_fn(free.len(), |i, _| if i / DOF == last { unit(i % DOF) } else { 0.0 })
    };
    let (normal, tangent) = (along([0.0, 0.0, 1.0]), along([1.0, 0.0, 0.0]));
    let push = &normal - &tangent * FRICTION;
    let entries = lower(&(rows * inverse * rows.transpose()));
    let (columns, row) = (rows * inverse * &push, rows * inverse * &normal);
    let corner = (normal.transpose() * inverse * &push)[(0, 0)];
    let (right, last_right) = (-(rows * free), -normal.dot(free));
    let factor = InsertedFactor::from_lower(rows.nrows(), &entries, Order::MinimumDegree)?;
    let clock = Instant::now();
    let whole = factor.insert(columns.as_slice(), row.as_slice(), &[corner], form)?.solve(right.as_slice(), &[last_right])?;
    let took = clock.elapsed().as_secs_f64();
    let after = free + inverse * (rows.transpose() * DVector::from_vec(whole.x1) + push * whole.x2[0]);
    Ok((after, took))
}

/// The largest difference, over the largest velocity.
fn apart(a: &DVector<f64>, b: &DVector<f64>) -> f64 {
    (a - b).amax() / b.amax()
}

fn speeds(v: &DVector<f64>) -> Vec<(f64, f64)> {
    (0..v.len() / DOF).map(|k| (k as f64, v.rows(DOF * k, 3).norm())).collect()
}

pub fn beside(report: &mut Report) -> Result<(), Failure> {
    let us = |seconds: f64| digits(1e6 * seconds, 3);
    let mut chart = None;
    for (name, closed, engine) in [("tree", false, "the hub a node"), ("loops", true, "the hub in parts")] {
        let mut worst = [0.0f64; 2];
        for spokes in [8usize, 16, 40] {
            let mut island = Island::of(&wheel(spokes, closed))?;
            let (wanted, step) = island.step()?;
            let (whole, one) = island.whole()?;
            let (cut, other, parts) = island.parts()?;
            worst = [worst[0].max(apart(&whole, &wanted)), worst[1].max(apart(&cut, &wanted))];
            report.timed(format!(
                "hub of {} rows, {name}: the engine's whole step {} µs; factor and solve of the matrix as it stands {} µs, in {parts} parts {} µs",
                island.rows.nrows(),
                us(step),
                us(one),
                us(other)
            ));
            if closed && spokes == 40 {
                chart = Some((speeds(&wanted), speeds(&cut)));
            }
        }
        report.words(
            &format!("appendix B beside the engine, {name}"),
            "a body with many joints is split",
            format!(
                "hubs of 40 to 200 rows; velocities of the engine ({engine}) equal those of the matrix as it stands to 1e-9: {}; those of the split body: {}",
                worst[0] < SAME,
                worst[1] < SAME
            ),
            worst[0] < SAME && worst[1] < SAME,
        );
    }
    let mut worst = [0.0f64; 2];
    for links in [3usize, 8, 20] {
        let mut island = Island::of(&sliding(links))?;
        let (wanted, step) = island.step()?;
        for (k, form) in [Form::Cholesky, Form::Ldl].into_iter().enumerate() {
            let (found, took) = inserted(&island, form)?;
            worst[k] = worst[k].max(apart(&found, &wanted));
            report.timed(format!(
                "chain of {links} links that slides: the engine's whole step {} µs, one insertion ({form:?}) {} µs",
                us(step),
                us(took)
            ));
        }
    }
    report.words(
        "appendix C beside the engine",
        "both forms, unsymmetric columns for friction",
        format!(
            "a ball at the end of 3 to 20 links slides; velocities of the engine (rows along the paths of the factor) equal those of A = G G' to 1e-9: {}; \
             of A = L D L': {}",
            worst[0] < SAME,
            worst[1] < SAME
        ),
        worst[0] < SAME && worst[1] < SAME,
    );
    let (engine, printed) = chart.unwrap_or_default();
    report.chart = Chart::new("A hub with 40 spokes and rods between them, after one step", "body", "speed [m/s]")
        .with("the engine", Style::Line, engine)
        .with("split by appendix B", Style::Dots, printed);
    Ok(())
}
