//! What was measured, laid onto the steps of a run.

use crate::args::FitArgs;
use crate::failure::{Failure, Fault};
use crate::source::unknown;
use carom::dynamics::{BodyKind, Model};
use carom::geometry::Geometry;
use carom::record::{Trajectory, read};

/// A measured time this close to the end of a step, as a part of the step, is that end.
const ON_STEP: f64 = 1e-6;

/// One thing that was measured.
#[derive(Clone, Copy, Debug)]
pub enum Sample<G: Geometry> {
    /// A coordinate of a body [m].
    Position(usize, usize, f64),
    /// The orientation of a body.
    Rotation(usize, G::Rot),
    /// A velocity component of a body [m/s or rad/s].
    Velocity(usize, usize, f64),
}

impl<G: Geometry> Sample<G> {
    /// Numbers it is compared by.
    pub fn count(&self) -> usize {
        if matches!(self, Sample::Rotation(..)) { G::ANG } else { 1 }
    }
}

/// What was measured after so many steps.
#[derive(Clone, Debug)]
pub struct Moment<G: Geometry> {
    /// Steps since the start.
    pub step: usize,
    /// What was seen.
    pub samples: Vec<Sample<G>>,
}

/// All that was measured, in the order of time.
#[derive(Clone, Debug)]
pub struct Measured<G: Geometry> {
    /// Moments with at least one sample.
    pub moments: Vec<Moment<G>>,
    /// Numbers in all.
    pub count: usize,
}

impl<G: Geometry> Measured<G> {
    /// Reads the file that the arguments name and lays it onto the steps of a model.
    pub fn read(args: &FitArgs, model: &Model<G>) -> Result<Self, Failure> {
        let place = args.data.display();
        let table = read(&args.data)?;
        let bad = |message: String, help: &str| Failure::bad_input(Fault::new(message).help(help));
        if table.header.dimension != G::DIM {
            // A table of the plane has no column that only space has, but x and y may be all that was seen.
            let (found, wanted) = (table.header.dimension, G::DIM);
            return Err(bad(
                format!("{place}: is of dimension {found}, the scene of {wanted}"),
                "a column z or a quaternion makes a table spatial",
            ));
        }
        let mut bodies = Vec::new();
        for name in &table.header.bodies {
            let names = model.bodies.iter().map(|b| b.name.as_str());
            let body = model
                .body(name)
                .ok_or_else(|| unknown(format!("{place}: no body \"{name}\" in the scene"), name, names, "bodies are matched by name"))?;
            bodies.push(body);
        }
        let last = args.time.unwrap_or(f64::INFINITY) * (1.0 + ON_STEP);
        let mut moments = Vec::new();
        for (frame, time) in table.time.iter().enumerate().filter(|(_, t)| **t <= last) {
            let steps = time / model.step;
            if *time < 0.0 || (steps - steps.round()).abs() > ON_STEP * steps.abs().max(1.0) {
                let help = format!("the scene's step is {} s; give it one that divides the times", model.step);
                return Err(bad(format!("{place}: time {time} s is not the end of a step"), &help));
            }
            let samples = samples(&table, frame, &bodies, model, args);
            if !samples.is_empty() {
                moments.push(Moment { step: steps.round() as usize, samples });
            }
        }
        let count = moments.iter().flat_map(|m| &m.samples).map(Sample::count).sum();
        if count == 0 {
            return Err(bad(
                format!("{place}: holds nothing to compare"),
                "positions of dynamic bodies are compared; --velocities and --rotations add to them",
            ));
        }
        Ok(Measured { moments, count })
    }

    /// Steps until the last moment.
    pub fn steps(&self) -> usize {
        self.moments.iter().map(|m| m.step).max().unwrap_or(0)
    }
}

fn samples<G: Geometry>(table: &Trajectory, frame: usize, bodies: &[usize], model: &Model<G>, args: &FitArgs) -> Vec<Sample<G>> {
    let mut out = Vec::new();
    for (column, &body) in bodies.iter().enumerate() {
        if model.bodies[body].kind == BodyKind::Static {
            continue;
        }
        let (Some(q), Some(v)) = (table.pose(frame, column), table.twist(frame, column)) else { continue };
        let (position, rotation) = q.split_at(G::DIM);
        let there = |x: &(usize, &f64)| x.1.is_finite();
        out.extend(position.iter().enumerate().filter(there).map(|(k, x)| Sample::Position(body, k, *x)));
        if args.rotations
            && rotation.iter().all(|x| x.is_finite())
            && let Some(rotation) = G::read_rotation(rotation)
        {
            out.push(Sample::Rotation(body, rotation));
        }
        if args.velocities {
            out.extend(v.iter().enumerate().filter(there).map(|(k, x)| Sample::Velocity(body, k, *x)));
        }
    }
    out
}
