//! What a step of a robot costs and how exact it is: models of the usual formats, limp, from their start.
//!
//! Run: `cargo run --release -p carom --example robots -- MODEL.xml ... MODEL.urdf ... [SECONDS]`, any number of models; URDF models, which have no
//! ground, get one just below their lowest point. `benches/robots.py` runs it beside MuJoCo. Times are those of the processor, on one thread.
//! For a profiler: `ROBOTS_DERIVATIVES=0` leaves the derivatives out, a number takes `linearise` that often and nothing else.

use carom::dynamics::gradient::{Tape, Weak, Wrt};
use carom::import::{Options, load};
use carom::prelude::*;
use carom::scene::Scene;
use std::path::Path;
use std::time::Instant;

/// Room between the lowest point of a model without ground and the ground it gets \[m\].
const ROOM: f64 = 0.02;

/// Derivatives taken for their least cost.
const DERIVATIVES: usize = 30;

/// Nanoseconds of work that a time is worth: the system counts them a few thousandths of a second at a time.
const WORTH: f64 = 2e8;

/// Most runs for it.
const RUNS: usize = 200;

/// Nanoseconds this thread has worked, or have passed where nobody counts them.
fn worked(since: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let told = told.and_then(|text| text.split_whitespace().next().and_then(|first| first.parse::<f64>().ok()));
    told.unwrap_or(since.elapsed().as_secs_f64() * 1e9)
}

/// A half-space below everything.
fn add_ground(model: &mut Model<Spatial>, state: &mut State<Spatial>) -> Result<(), Box<dyn std::error::Error>> {
    let mut lowest = f64::INFINITY;
    for (body, pose) in model.bodies.iter().zip(&state.poses) {
        for collider in &body.colliders {
            lowest = lowest.min(Spatial::bounds(&collider.shape, &pose.compose(&collider.local)).min[2]);
        }
    }
    let mut ground = Body::new("ground", BodyKind::Static, f64::INFINITY, Spatial::inertia_zero());
    let shape = spatial::Shape::half_space(Vector::from_slice(&[0.0, 0.0, 1.0]))?;
    ground.colliders.push(Collider { shape, local: Pose::identity() });
    ground.surface.friction = 0.8;
    model.bodies.push(ground);
    let position = Vector::from_slice(&[0.0, 0.0, lowest - ROOM]);
    state.push(Pose { position, ..Pose::identity() }, Twist::zero());
    Ok(())
}

fn measure(path: &Path, seconds: f64) -> Result<(), Box<dyn std::error::Error>> {
    let Scene::Spatial(scene) = load(path, &Options::default())?.scene else { return Err("models are spatial".into()) };
    let (mut model, mut state) = (scene.model, scene.state);
    if path.extension().is_some_and(|ending| ending == "urdf") {
        add_ground(&mut model, &mut state)?;
    }
    let (step, joints) = (model.step, model.joints.len());
    let controls = vec![0.0; model.control_count()];
    let mut world = World::new(model, state)?;
    let start = world.copy();
    let counted = std::env::var("ROBOTS_DERIVATIVES").ok().and_then(|text| text.parse::<usize>().ok());
    let steps = (seconds / step).round() as usize;
    let mut total = carom::dynamics::StepReport::default();
    let (mut depth, mut slowest) = (0.0f64, 0.0f64);
    for _ in 0..steps {
        let begun = Instant::now();
        let report = world.step_with(&controls)?;
        slowest = slowest.max(begun.elapsed().as_secs_f64() * 1e9);
        total.merge(&report);
        depth = depth.max(-world.deepest());
    }
    // The same again for its time, where nobody counts instructions.
    let since = Instant::now();
    let (begun, mut spent, mut runs) = (worked(since), 0.0, 0);
    while counted.is_none() && spent < WORTH && runs < RUNS {
        let mut again = start.copy();
        for _ in 0..steps {
            again.step_with(&controls)?;
        }
        runs += 1;
        spent = worked(since) - begun;
    }
    let spent = spent / f64::from(runs.max(1) as u32);
    // The derivative of a step where the run ended, by its state and in joint coordinates; the least of several counts.
    let least = |work: &mut dyn FnMut() -> Result<(), Box<dyn std::error::Error>>| -> Result<f64, Box<dyn std::error::Error>> {
        let mut least = f64::INFINITY;
        for _ in 0..DERIVATIVES {
            let start = Instant::now();
            work()?;
            least = least.min(start.elapsed().as_secs_f64() * 1e6);
        }
        Ok(least)
    };
    if let Some(count) = counted {
        for _ in 0..count {
            world.linearise(&controls, Weak::AsSolved, &Interrupt::NEVER)?;
        }
        println!("{:<22} {steps} steps", path.display());
        return Ok(());
    }
    let alone = least(&mut || Ok(world.rollout(1, &controls, Tape::Full).map(|_| ())?))?;
    let jacobian = least(&mut || {
        let rollout = world.rollout(1, &controls, Tape::Full)?;
        rollout.jacobian(0, Wrt::StatesAndControls, Weak::AsSolved, &Interrupt::NEVER)?;
        Ok(())
    })?;
    let linearised = least(&mut || {
        world.linearise(&controls, Weak::AsSolved, &Interrupt::NEVER)?;
        Ok(())
    })?;
    let each = |count: usize| count as f64 / steps as f64;
    let ledger = world.ledger();
    println!(
        "{:<22} {:>3} joints, {:>8.1} us a step, {:>6.1} x real time, slowest {:>6.0} us, there a recorded step {:.1} us, jacobian {:.0} us, linearise {:.1} us; a step: substeps {:.2}, solves {:.2}, corrections {:.2}, substitutions \
         {:.2}, factorisations {:.2}; joint gap {:.0e}, depth {:.0e} m, residual {:.0e} m/s, drift {:.0e} of {:.1e} J",
        path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        joints,
        spent * 1e-3 / steps as f64,
        seconds * 1e9 / spent,
        slowest * 1e-3,
        alone,
        jacobian,
        linearised,
        each(total.substeps),
        each(total.solves),
        each(total.corrections),
        each(total.substitutions),
        each(total.factorisations),
        total.joint_error,
        depth,
        total.residual,
        ledger.drift,
        ledger.exchanged,
    );
    if std::env::var_os("ROBOTS_STATES").is_some() {
        for (body, pose) in world.model().bodies.iter().zip(&world.state().poses).filter(|(body, _)| body.kind == BodyKind::Dynamic) {
            println!("    {:<18} {:.15e} {:.15e} {:.15e}", body.name, pose.position.x, pose.position.y, pose.position.z);
        }
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seconds = arguments.iter().find_map(|text| text.parse::<f64>().ok()).unwrap_or(2.0);
    for path in arguments.iter().filter(|text| text.parse::<f64>().is_err()) {
        measure(Path::new(path), seconds)?;
    }
    Ok(())
}
