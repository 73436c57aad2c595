//! Small random scenes: whatever is thrown together, nothing panics, overlaps, tears or stops being a number.

use carom_dynamics::{BodyKind, Joint, World};
use carom_math::{Planar, Spatial, Vector};
use carom_tests::{Scene, Stage, figure, full, hostile_scene, random_scene};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Bounds: overlap over size, relative complementarity residual, joint gap [m].
const OVERLAP: f64 = 1e-6;
const RESIDUAL: f64 = 1e-8;
const JOINT_GAP: f64 = 1e-9;

/// Worst figures of a run.
#[derive(Clone, Copy, Debug, Default)]
struct Worst {
    overlap: f64,
    residual: f64,
    joint: f64,
    inaccurate: usize,
    unconverged: usize,
    impacts: usize,
}

impl Worst {
    fn merge(&mut self, other: &Worst) {
        self.overlap = self.overlap.max(other.overlap);
        self.residual = self.residual.max(other.residual);
        self.joint = self.joint.max(other.joint);
        self.inaccurate += other.inaccurate;
        self.unconverged += other.unconverged;
        self.impacts += other.impacts;
    }
}

/// Deepest overlap, each over the size of its pair: the largest extent of the smaller body.
fn overlap<G: Stage>(world: &World<G>) -> f64 {
    let (model, poses) = (world.model(), &world.state().poses);
    let mut worst = 0.0f64;
    for i in 0..model.bodies.len() {
        for j in i + 1..model.bodies.len() {
            let joined = |joint: &Joint<G>| !joint.collide && (joint.bodies == [Some(i), Some(j)] || joint.bodies == [Some(j), Some(i)]);
            let (a, b) = (&model.bodies[i], &model.bodies[j]);
            let size = a.extent().min(b.extent());
            let moves = a.kind == BodyKind::Dynamic || b.kind == BodyKind::Dynamic;
            if moves && size.is_finite() && !model.joints.iter().any(joined) {
                let (ca, cb) = (&a.colliders[0], &b.colliders[0]);
                let gap = G::separation(&ca.shape, &poses[i].compose(&ca.local), &cb.shape, &poses[j].compose(&cb.local), 0.0);
                worst = worst.max(-gap / size);
            }
        }
    }
    worst
}

/// Which scenes are drawn.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// Default choices.
    Plain,
    /// Every choice, extreme masses, motors, limits, a moving ground. Joints and friction can make contact problems without a solution
    /// (Painlevé): these must be flagged, and nothing may overlap all the same.
    Hostile,
}

fn draw<G: Stage>(kind: Kind, number: u64, dropped: &[usize]) -> (Scene<G>, Vec<String>, bool) {
    match kind {
        Kind::Plain => {
            let (scene, story) = random_scene::<G>(number, dropped);
            (scene, story, true)
        }
        Kind::Hostile => hostile_scene::<G>(number, dropped),
    }
}

/// Runs a scene; what went wrong, if anything did.
fn trial<G: Stage>(kind: Kind, number: u64, dropped: &[usize]) -> Result<Worst, String> {
    let (scene, _, tight) = draw::<G>(kind, number, dropped);
    let mut world = World::new(scene.model, scene.state).map_err(|error| format!("model: {error}"))?;
    let mut worst = Worst::default();
    for step in 0..50 + (number % 51) as usize {
        // Residuals are told in m/s; what counts is their part of the speeds at hand.
        let speed = |world: &World<G>| world.state().twists.iter().map(|t| t.lin.norm() + t.ang.norm()).fold(1.0, f64::max);
        let fast = speed(&world);
        let report = world.step().map_err(|error| format!("step {step}: {error}"))?;
        let finite = world.state().poses.iter().all(|p| p.is_finite()) && world.state().twists.iter().all(|t| t.is_finite());
        let now = Worst {
            overlap: if tight { overlap(&world) } else { 0.0 },
            residual: report.residual / fast.max(speed(&world)),
            joint: world.joint_error(),
            inaccurate: usize::from(report.inaccurate),
            unconverged: usize::from(report.unconverged),
            impacts: report.impacts,
        };
        worst.merge(&now);
        if !finite {
            return Err(format!("step {step}: not finite"));
        }
        if now.overlap > OVERLAP * (1.0 + 1e-6) {
            return Err(format!("step {step}: overlap {:e} of the size, {report:?}", now.overlap));
        }
        // Not a plain comparison, which a value that is no number would pass.
        let unsolvable = kind == Kind::Hostile && report.inaccurate;
        if !(now.residual <= RESIDUAL || unsolvable) {
            return Err(format!("step {step}: residual {:e}, {report:?}", now.residual));
        }
        let closed = now.joint <= JOINT_GAP;
        if tight && !closed {
            return Err(format!("step {step}: joint gap {:e}, {report:?}", now.joint));
        }
    }
    Ok(worst)
}

/// The same with panics caught.
fn caught<G: Stage>(kind: Kind, number: u64, dropped: &[usize]) -> Result<Worst, String> {
    catch_unwind(AssertUnwindSafe(|| trial::<G>(kind, number, dropped))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Drops bodies as long as the scene still fails.
fn shrunk<G: Stage>(kind: Kind, number: u64) -> (Vec<usize>, String) {
    let mut dropped = Vec::new();
    let mut reason = caught::<G>(kind, number, &dropped).err().unwrap_or_default();
    for body in 0..6 {
        let mut fewer = dropped.clone();
        fewer.push(body);
        if let Err(still) = caught::<G>(kind, number, &fewer) {
            dropped = fewer;
            reason = still;
        }
    }
    (dropped, reason)
}

/// 300 scenes, or 10 000 with `CAROM_FULL=1`, from the number in `CAROM_SEED`; every failure is shrunk and told.
fn many<G: Stage>(kind: Kind) {
    let count = if full() { 10_000 } else { 300 };
    let first = std::env::var("CAROM_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let mut worst = Worst::default();
    let mut failures = Vec::new();
    for number in first..first + count {
        match caught::<G>(kind, number, &[]) {
            Ok(run) => worst.merge(&run),
            Err(_) => failures.push(number),
        }
    }
    let name = format!("{} {count} {kind:?} scenes", G::NAME);
    figure(&format!("{name}: impacts"), worst.impacts as f64);
    figure(&format!("{name}: overlap over size"), worst.overlap);
    figure(&format!("{name}: residual"), worst.residual);
    figure(&format!("{name}: joint gap [m]"), worst.joint);
    figure(&format!("{name}: inaccurate steps"), worst.inaccurate as f64);
    figure(&format!("{name}: unconverged steps"), worst.unconverged as f64);
    figure(&format!("{name}: failures"), failures.len() as f64);
    for &number in failures.iter().take(if full() { 40 } else { 12 }) {
        let (dropped, reason) = shrunk::<G>(kind, number);
        println!("{kind:?} scene {number}, without bodies {dropped:?}: {reason}");
        for line in draw::<G>(kind, number, &dropped).1 {
            println!("    {line}");
        }
    }
    assert!(worst.impacts > 100, "the bodies do collide");
    assert!(failures.is_empty(), "{} of {count} scenes fail: {failures:?}", failures.len());
}

#[test]
fn planar() {
    many::<Planar>(Kind::Plain);
}

#[test]
fn spatial() {
    many::<Spatial>(Kind::Plain);
}

#[test]
fn planar_hostile() {
    many::<Planar>(Kind::Hostile);
}

#[test]
fn spatial_hostile() {
    many::<Spatial>(Kind::Hostile);
}
