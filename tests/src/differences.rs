//! Gradients of rollouts against central differences over several step sizes, sort by sort of parameter.

use crate::random::Random;
use carom_dynamics::constraints::JointParameter;
use carom_dynamics::gradient::{Cotangents, Direction, Parameters, Rollout, Tape};
use carom_dynamics::{BodyKind, Model, State, World};
use carom_geometry::Geometry;
use carom_math::{Twist, Vector};
use carom_scene::{Scene, SceneOf};

/// Step sizes of the differences, relative to the size of what is moved; the best of the five counts.
const STEPS: [f64; 5] = [1e-4, 1e-5, 1e-6, 1e-7, 3e-8];

/// Derivatives smaller than this are compared absolutely: differences cannot see less.
const LEAST: f64 = 1e-3;

/// A direction of one sort of parameter.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Which sort.
    pub sort: &'static str,
    /// The direction.
    pub direction: Direction,
}

/// How well one sort agrees.
#[derive(Clone, Debug)]
pub struct Agreement {
    /// Which sort.
    pub sort: &'static str,
    /// Best difference between tangent and central differences, relative to the larger of them (floored).
    pub error: f64,
    /// The same with differences to one side, the better of the two.
    pub one_sided: f64,
    /// Size of the derivative.
    pub size: f64,
}

/// What a check found.
#[derive(Clone, Debug, Default)]
pub struct Findings {
    /// By sort.
    pub agreements: Vec<Agreement>,
    /// Largest violation of <J u, w> = <u, J' w>, relative.
    pub transpose: f64,
    /// Steps whose derivative is not exact on both sides.
    pub flagged: usize,
}

impl Findings {
    /// Largest disagreement and its sort.
    pub fn worst(&self) -> (f64, &'static str) {
        self.agreements.iter().fold((0.0, ""), |w, a| if a.error > w.0 || a.error.is_nan() { (a.error, a.sort) } else { w })
    }
}

/// Reads a scene, whatever its dimension, lets it run `before` steps and checks the `steps` after them.
pub fn check_text(text: &str, before: usize, steps: usize, seed: u64) -> Findings {
    match carom_scene::from_toml(text, "check") {
        Ok(Scene::Planar(scene)) => check_scene(scene, before, steps, seed),
        Ok(Scene::Spatial(scene)) => check_scene(scene, before, steps, seed),
        Err(error) => panic!("{error}"),
    }
}

/// Checks a scene.
pub fn check_scene<G: Geometry>(scene: SceneOf<G>, before: usize, steps: usize, seed: u64) -> Findings {
    let mut world = World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}"));
    for _ in 0..before {
        let idle = vec![0.0; world.model().control_count()];
        world.step_with(&idle).unwrap_or_else(|e| panic!("{e}"));
    }
    check_world(&world, steps, seed)
}

/// Checks a world from its present state.
pub fn check_world<G: Geometry>(world: &World<G>, steps: usize, seed: u64) -> Findings {
    let mut random = Random::new(seed);
    let controls: Vec<f64> = (0..steps * world.model().control_count()).map(|_| random.range(-1.0, 1.0)).collect();
    let rollout = world.rollout(steps, &controls, Tape::Full).unwrap_or_else(|e| panic!("{e}"));
    let layout = rollout.layout().clone();
    let mut findings = Findings::default();
    let size = world.model().bodies.len() * G::DOF;
    let bar = Cotangents {
        poses: (0..size).map(|_| random.range(-1.0, 1.0)).collect(),
        twists: (0..size).map(|_| random.range(-1.0, 1.0)).collect(),
    };
    let gradient = rollout.backward(&bar).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        gradient.poses.iter().chain(&gradient.twists).chain(&gradient.parameters).chain(&gradient.controls).all(|x| x.is_finite()),
        "a gradient is not finite"
    );
    findings.flagged = gradient.switches.iter().filter(|s| !s.is_exact()).count();
    for probe in probes(world, &layout, controls.len(), &mut random) {
        let (poses, twists) = rollout.forward(&probe.direction).unwrap_or_else(|e| panic!("{e}"));
        // Transpose identity, over the terms of both sums: what rounding leaves of terms that cancel is no violation.
        let parts = [
            (&poses, &bar.poses),
            (&twists, &bar.twists),
            (&probe.direction.poses, &gradient.poses),
            (&probe.direction.twists, &gradient.twists),
            (&probe.direction.controls, &gradient.controls),
            (&probe.direction.parameters, &gradient.parameters),
        ];
        let sums = parts.map(|(a, b)| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>());
        let (left, right) = (sums[0] + sums[1], sums[2] + sums[3] + sums[4] + sums[5]);
        let scale = parts.map(|(a, b)| a.iter().zip(b).map(|(x, y)| (x * y).abs()).sum::<f64>()).iter().sum::<f64>();
        findings.transpose = findings.transpose.max((left - right).abs() / scale.max(LEAST));
        findings.agreements.push(compare(world, &rollout, &layout, &controls, &probe, &poses, &twists));
    }
    findings
}

/// Poses and velocities of the last state relative to those of the rollout.
type Ends = (Vec<f64>, Vec<f64>);

/// The best agreement over the step sizes.
fn compare<G: Geometry>(
    world: &World<G>,
    rollout: &Rollout<G>,
    layout: &Parameters,
    controls: &[f64],
    probe: &Probe,
    poses: &[f64],
    twists: &[f64],
) -> Agreement {
    let steps = rollout.steps();
    let end = |sign: f64, h: f64| -> Option<Ends> {
        let other = altered(world, layout, &probe.direction, sign * h)?;
        let moved: Vec<f64> = if probe.direction.controls.is_empty() {
            controls.to_vec()
        } else {
            controls.iter().zip(&probe.direction.controls).map(|(c, d)| c + sign * h * d).collect()
        };
        let run = other.rollout(steps, &moved, Tape::Off).ok()?;
        Some(relative(run.states.last()?, rollout.states.last()?))
    };
    let size = poses.iter().chain(twists).fold(0.0f64, |m, x| m.max(x.abs()));
    // The largest relative disagreement of c1 f1 + c2 f2 with the tangent.
    let judge = |(c1, f1): (f64, &Ends), (c2, f2): (f64, &Ends)| -> f64 {
        let (mut error, mut largest): (f64, f64) = (0.0, size);
        for (exact, (a, b)) in [(poses, (&f1.0, &f2.0)), (twists, (&f1.1, &f2.1))] {
            for (x, (a, b)) in exact.iter().zip(a.iter().zip(b.iter())) {
                let difference = c1 * a + c2 * b;
                largest = largest.max(difference.abs());
                error = error.max((x - difference).abs());
            }
        }
        error / largest.max(LEAST)
    };
    let (mut best, mut one_sided) = (f64::INFINITY, f64::INFINITY);
    for h in STEPS {
        let sides = [end(1.0, h), end(-1.0, h)];
        if let [Some(plus), Some(minus)] = &sides {
            best = best.min(judge((0.5 / h, plus), (-0.5 / h, minus)));
        }
        for (sign, near) in [1.0, -1.0].into_iter().zip(&sides) {
            if let (Some(near), Some(far)) = (near, end(sign, 2.0 * h)) {
                one_sided = one_sided.min(judge((sign * 2.0 / h, near), (-sign * 0.5 / h, &far)));
            }
        }
    }
    Agreement { sort: probe.sort, error: best, one_sided, size }
}

/// The world with state and parameters moved a way along a direction; nothing where that makes no world.
pub fn altered<G: Geometry>(world: &World<G>, layout: &Parameters, direction: &Direction, way: f64) -> Option<World<G>> {
    let scaled = |x: &[f64]| x.iter().map(|d| way * d).collect::<Vec<f64>>();
    let model = if direction.parameters.is_empty() {
        world.model().clone()
    } else {
        layout.perturbed(world.model(), &scaled(&direction.parameters)).ok()?
    };
    let state = perturbed_state::<G>(world.model(), world.state(), &scaled(&direction.poses), &scaled(&direction.twists));
    world.altered(model, state).ok()
}

/// A state moved by tangents; empty ones leave it.
fn perturbed_state<G: Geometry>(model: &Model<G>, state: &State<G>, poses: &[f64], twists: &[f64]) -> State<G> {
    let mut out = state.clone();
    for body in 0..model.bodies.len() {
        let part = body * G::DOF..(body + 1) * G::DOF;
        if let Some(x) = poses.get(part.clone()) {
            let by = Twist { lin: G::Lin::from_slice(x), ang: G::Ang::from_slice(&x[G::DIM..]) };
            out.poses[body] = out.poses[body].advanced(by, 1.0);
        }
        if let Some(x) = twists.get(part) {
            out.twists[body].lin += G::Lin::from_slice(x);
            out.twists[body].ang += G::Ang::from_slice(&x[G::DIM..]);
        }
    }
    out
}

/// How far a state is from another, as tangents in the order of velocities.
pub fn relative<G: Geometry>(state: &State<G>, from: &State<G>) -> (Vec<f64>, Vec<f64>) {
    let (mut poses, mut twists) = (Vec::new(), Vec::new());
    for (a, b) in state.poses.iter().zip(&from.poses) {
        poses.extend_from_slice((a.position - b.position).as_slice());
        poses.extend_from_slice(G::log(G::compose(a.rotation, G::inverse(b.rotation))).as_slice());
    }
    for (a, b) in state.twists.iter().zip(&from.twists) {
        twists.extend_from_slice((a.lin - b.lin).as_slice());
        twists.extend_from_slice((a.ang - b.ang).as_slice());
    }
    (poses, twists)
}

/// One random direction of each sort of parameter that the world has.
fn probes<G: Geometry>(world: &World<G>, layout: &Parameters, controls: usize, random: &mut Random) -> Vec<Probe> {
    let model = world.model();
    let size = model.bodies.len() * G::DOF;
    let dynamic = |k: usize| model.bodies[k / G::DOF].kind == BodyKind::Dynamic;
    let mut out = Vec::new();
    let free: Vec<f64> = (0..size).map(|k| if dynamic(k) { random.range(-1.0, 1.0) } else { 0.0 }).collect();
    out.push(Probe { sort: "velocity", direction: Direction { twists: free.clone(), ..Direction::default() } });
    out.push(Probe { sort: "pose", direction: Direction { poses: free, ..Direction::default() } });
    if controls > 0 {
        let controls = (0..controls).map(|_| random.range(-1.0, 1.0)).collect();
        out.push(Probe { sort: "controls", direction: Direction { controls, ..Direction::default() } });
    }
    let mut of = |sort: &'static str, slots: Vec<usize>| {
        if !slots.is_empty() {
            let mut parameters = vec![0.0; layout.len];
            for slot in slots {
                parameters[slot] = random.range(-1.0, 1.0);
            }
            out.push(Probe { sort, direction: Direction { parameters, ..Direction::default() } });
        }
    };
    let bodies = || layout.bodies.iter().zip(&model.bodies);
    let moving = || bodies().filter(|(_, b)| b.kind == BodyKind::Dynamic).map(|(s, _)| s);
    of("mass", moving().map(|s| s.mass).collect());
    of("inertia", moving().flat_map(|s| s.inertia.clone()).collect());
    of("friction", bodies().filter(|(_, b)| b.surface.friction > 0.0).map(|(s, _)| s.surface.friction).collect());
    let arms = bodies().flat_map(|(s, b)| [(s.surface.rolling, b.surface.rolling), (s.surface.torsional, b.surface.torsional)]);
    of("arms", arms.filter(|arm| arm.1 > 0.0).map(|arm| arm.0).collect());
    let bounces = |e: f64| e > 0.0 && e < 1.0;
    of("restitution", bodies().filter(|(_, b)| bounces(b.surface.restitution)).map(|(s, _)| s.surface.restitution).collect());
    // Coefficients at the border of what they may be have no two-sided difference.
    let damped = bodies().flat_map(|(s, b)| s.resistances.list().into_iter().zip(b.resistances.list()));
    of("damping", damped.filter(|d| d.1 > 0.0).map(|d| d.0).collect());
    of("gravity", layout.gravity.clone().collect());
    of("step", vec![layout.step]);
    of("placement", moving().flat_map(|s| s.colliders.iter().flat_map(|c| c.placement.clone())).collect());
    of("shape", moving().flat_map(|s| s.colliders.iter().flat_map(|c| c.shape.clone())).collect());
    let joints = layout.joints.iter().zip(&model.joints).flat_map(|(slots, joint)| {
        let parameters = joint.parameters();
        slots.clone().zip(parameters).filter(|(_, p)| {
            let bounded = matches!(p, JointParameter::Friction | JointParameter::Damping | JointParameter::MotorDamping);
            !bounded || joint.parameter_value(*p) > 0.0
        })
    });
    of("joints", joints.map(|(slot, _)| slot).collect());
    of("pairs", layout.pairs.iter().flat_map(|slots| slots.list()).flatten().collect());
    of("forces", layout.forces.iter().flat_map(|f| f.force.clone().chain(f.torque.clone()).chain(f.at.clone())).collect());
    out
}
