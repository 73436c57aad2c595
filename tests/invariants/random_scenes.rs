//! Small random scenes: whatever is thrown together, nothing panics, overlaps, tears or stops being a number.

use carom_dynamics::{Joint, JointKind, JointSpec, World};
use carom_geometry::Geometry;
use carom_math::{Planar, Pose, Spatial, Twist, Vector};
use carom_tests::{Random, Scene, Stage, figure, full};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Least start distance between bodies [m].
const CLEARANCE: f64 = 0.02;
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

/// A random scene of 2 to 6 bodies; those in `dropped` are left out, with their joints.
fn build<G: Stage>(seed: u64, dropped: &[usize]) -> (Scene<G>, Vec<String>) {
    let mut random = Random::new(seed);
    let step = random.pick(&[0.002, 0.005, 0.01]);
    let mut scene = Scene::<G>::new(step);
    let mut story = vec![format!("step {step}")];
    if random.below(4) == 0 {
        scene.model.gravity = G::Lin::zero();
        story.push("no gravity".into());
    }
    let (mu, e) = (random.pick(&[0.0, 0.2, 0.5, 1.0]), random.pick(&[0.0, 0.3, 0.7, 1.0]));
    scene.ground(mu, e);
    story.push(format!("ground mu {mu} e {e}"));
    if random.below(2) == 0 {
        for side in [-1.0, 1.0] {
            scene.fixed(G::half_space(G::at(-side, 0.0)), Pose { position: G::at(2.0 * side, 0.0), rotation: G::identity() }, mu, e);
        }
        story.push("walls at x = -2, 2".into());
    }
    let fixed = scene.model.bodies.len();
    let count = 2 + random.below(5);
    let mut placed: Vec<Option<usize>> = Vec::new();
    for number in 0..count {
        let kind = random.below(4);
        let size = random.range(0.15, 0.45);
        let shape = match kind {
            0 => G::ball(size),
            1 => G::cuboid(2.0 * size, random.range(0.5, 2.0) * size),
            2 => G::capsule(random.range(0.5, 2.0) * size, 0.5 * size),
            _ => G::rock(size, &mut || random.unit()),
        };
        let mass = 10f64.powf(random.range(-1.0, 1.0));
        let (mu, e) = (random.range(0.0, 1.0), random.range(0.0, 1.0));
        let lin = G::deep(random.range(-3.0, 3.0), random.range(-1.0, 1.0), random.range(-3.0, 3.0));
        let ang = G::rates(random.range(-6.0, 6.0), random.range(-6.0, 6.0), random.range(-6.0, 6.0));
        // A place of its own: draws until it is clear of everything placed before.
        let mut place = None;
        for _ in 0..200 {
            let position = G::deep(random.range(-1.4, 1.4), random.range(-0.5, 0.5), random.range(0.5, 3.0));
            let rotation = G::exp(G::rates(random.range(-3.0, 3.0), random.range(-2.0, 2.0), random.range(-2.0, 2.0)));
            let pose = Pose { position, rotation };
            let clear = (0..scene.model.bodies.len()).all(|other| {
                let body = &scene.model.bodies[other];
                body.colliders.iter().all(|c| {
                    let there = scene.state.poses[other].compose(&c.local);
                    G::separation(&shape.shape, &pose.compose(&shape.local), &c.shape, &there, f64::INFINITY) > CLEARANCE
                })
            });
            if clear && place.is_none() {
                place = Some(pose);
            }
        }
        match place {
            Some(pose) if !dropped.contains(&number) => {
                let body = scene.body(shape, mass, pose, mu, e);
                // The shape's centroid became the origin: put it back where it was found to be clear.
                let moved = scene.model.bodies[body].colliders[0].local;
                let back = pose.direction(shape_shift::<G>(kind, &moved));
                scene.state.poses[body].position += back;
                scene.moving(body, lin, ang);
                story.push(format!(
                    "body {number}: {:?} m {mass:.3} at {:?} v {:?} w {:?} mu {mu:.2} e {e:.2}",
                    scene.model.bodies[body].colliders[0].shape,
                    scene.state.poses[body].position.as_slice(),
                    lin.as_slice(),
                    ang.as_slice()
                ));
                placed.push(Some(body));
            }
            _ => placed.push(None),
        }
    }
    // Joints between neighbours in the list; velocities of joined bodies are those of one rigid motion, so that the joint agrees.
    for number in 1..count {
        if random.below(3) != 0 {
            continue;
        }
        let kind = random.pick(&[JointKind::Hinge, JointKind::Ball, JointKind::Distance, JointKind::Rope, JointKind::Spring, JointKind::Weld]);
        let (Some(a), Some(b)) = (placed[number], placed[number - 1]) else { continue };
        let mut spec = JointSpec::<G>::new(format!("joint {number}"), kind, [Some(a), Some(b)]);
        let (pa, pb) = (scene.state.poses[a], scene.state.poses[b]);
        match kind {
            JointKind::Distance | JointKind::Rope | JointKind::Spring => {
                spec.anchors = Some([pa.position, pb.position]);
                spec.collide = true;
                if kind == JointKind::Spring {
                    spec.stiffness = 50.0;
                    spec.damping = 0.5;
                }
            }
            _ => {
                spec.anchor = Some((pa.position + pb.position) * 0.5);
                if kind == JointKind::Hinge && G::DIM > 2 {
                    spec.axis = Some(G::deep(0.2, 1.0, 0.1));
                }
            }
        }
        scene.model.joints.push(Joint::new(spec, &pa, &pb).expect("a joint"));
        let lead = scene.state.twists[b];
        let arm = pa.position - pb.position;
        scene.state.twists[a] = Twist { lin: lead.at(arm), ang: lead.ang };
        story.push(format!("{kind:?} between bodies {} and {number}", number - 1));
    }
    assert!(scene.model.bodies.len() >= fixed);
    (scene, story)
}

/// What the centring of a rock's corners moved it by, in its own frame.
fn shape_shift<G: Stage>(kind: usize, moved: &Pose<G>) -> G::Lin {
    if kind == 3 { -moved.position } else { G::Lin::zero() }
}

/// Deepest overlap over the size of its pair.
fn overlap<G: Stage>(world: &World<G>) -> f64 {
    let sizes = world.model().bodies.iter().map(|b| b.extent());
    let least = sizes.filter(|s| s.is_finite() && *s > 0.0).fold(f64::INFINITY, f64::min);
    -world.deepest() / least
}

/// Runs a scene; what went wrong, if anything did.
fn trial<G: Stage>(seed: u64, dropped: &[usize]) -> Result<Worst, String> {
    let (scene, _) = build::<G>(seed, dropped);
    let mut world = World::new(scene.model, scene.state).map_err(|error| format!("model: {error}"))?;
    let mut worst = Worst::default();
    let steps = 50 + (seed % 51) as usize;
    for step in 0..steps {
        let report = world.step().map_err(|error| format!("step {step}: {error}"))?;
        let finite = world.state().poses.iter().all(|p| p.is_finite()) && world.state().twists.iter().all(|t| t.is_finite());
        let now = Worst {
            overlap: overlap(&world),
            residual: report.residual,
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
        if now.residual > RESIDUAL {
            return Err(format!("step {step}: residual {:e}, {report:?}", now.residual));
        }
        if now.joint > JOINT_GAP {
            return Err(format!("step {step}: joint gap {:e}, {report:?}", now.joint));
        }
    }
    Ok(worst)
}

/// The same with panics caught.
fn caught<G: Stage>(seed: u64, dropped: &[usize]) -> Result<Worst, String> {
    catch_unwind(AssertUnwindSafe(|| trial::<G>(seed, dropped))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().cloned().or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
        Err(format!("panic: {}", text.unwrap_or_default()))
    })
}

/// Drops bodies as long as the scene still fails.
fn shrunk<G: Stage>(seed: u64) -> (Vec<usize>, String) {
    let mut dropped = Vec::new();
    let mut reason = caught::<G>(seed, &dropped).err().unwrap_or_default();
    for number in 0..6 {
        let mut fewer = dropped.clone();
        fewer.push(number);
        if let Err(still) = caught::<G>(seed, &fewer) {
            dropped = fewer;
            reason = still;
        }
    }
    (dropped, reason)
}

fn many<G: Stage>() {
    let count = if full() { 10_000 } else { 300 };
    let first = std::env::var("CAROM_FIRST").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let mut worst = Worst::default();
    let mut failures = Vec::new();
    for seed in first..first + count {
        match caught::<G>(seed, &[]) {
            Ok(run) => worst.merge(&run),
            Err(_) => failures.push(seed),
        }
    }
    let name = format!("{} {count} random scenes", G::NAME);
    figure(&format!("{name}: impacts"), worst.impacts as f64);
    figure(&format!("{name}: overlap over size"), worst.overlap);
    figure(&format!("{name}: residual"), worst.residual);
    figure(&format!("{name}: joint gap [m]"), worst.joint);
    figure(&format!("{name}: inaccurate steps"), worst.inaccurate as f64);
    figure(&format!("{name}: unconverged steps"), worst.unconverged as f64);
    figure(&format!("{name}: failures"), failures.len() as f64);
    for &seed in failures.iter().take(if full() { 40 } else { 12 }) {
        let (dropped, reason) = shrunk::<G>(seed);
        println!("seed {seed}, without bodies {dropped:?}: {reason}");
        for line in build::<G>(seed, &dropped).1 {
            println!("    {line}");
        }
    }
    assert!(worst.impacts > 100, "the bodies do collide");
    assert!(failures.is_empty(), "{} of {count} scenes fail: {failures:?}", failures.len());
}

#[test]
fn planar() {
    many::<Planar>();
}

#[test]
fn spatial() {
    many::<Spatial>();
}
