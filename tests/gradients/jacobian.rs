//! The whole derivative of a step at once: row by row that of the adjoint, and along a direction that of the step itself.

use crate::scenes::FALLING_ARM;
use carom_dynamics::gradient::{Cotangents, Direction, Tape, Weak, Wrt};
use carom_dynamics::{BodyKind, Interrupt, World};
use carom_geometry::Geometry;
use carom_scene::Scene;
use carom_tests::differences::{altered, relative};
use carom_tests::random::Random;

/// A trunk on two legs of two links, with springs, dampers, controls, friction and limits, just above the ground.
pub(crate) const LEGGED: &str = r#"
dimension = 3
step = 0.004
[materials.all]
friction = 0.6
[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 0, 1] }
material = "all"
[[body]]
name = "trunk"
shape = { box = [0.6, 0.3, 0.2] }
position = [0, 0, 0.8]
velocity = [0.3, 0.1, -0.4]
spin = [0.2, -0.4, 0.3]
material = "all"
[[body]]
name = "thigh"
shape = { capsule = [0.3, 0.05] }
position = [0.2, 0, 0.55]
material = "all"
[[body]]
name = "shin"
shape = { capsule = [0.3, 0.04] }
position = [0.2, 0, 0.25]
material = "all"
[[body]]
name = "hind"
shape = { capsule = [0.6, 0.04] }
position = [-0.25, 0, 0.4]
material = "all"
[[joint]]
name = "hip"
kind = "hinge"
between = ["thigh", "trunk"]
anchor = [0.2, 0, 0.7]
axis = [0, 1, 0]
limits = [-0.6, 0.02]
motor = { control = true, stiffness = 20, damping = 2, max = 30 }
[[joint]]
name = "knee"
kind = "hinge"
between = ["shin", "thigh"]
anchor = [0.2, 0, 0.4]
axis = [0, 1, 0]
friction = 0.05
motor = { control = true, position = 0.3, stiffness = 12, damping = 1 }
[[joint]]
name = "tail"
kind = "hinge"
between = ["hind", "trunk"]
anchor = [-0.25, 0, 0.7]
axis = [0, 1, 0]
motor = { control = true, damping = 1 }
"#;

/// Difference allowed between two roads to one number, relative to the largest of its kind.
const SAME: f64 = 1e-11;

/// Relative error allowed of fourth-order differences.
const DIFFERENCE: f64 = 1e-8;

/// Steps of the differences; the best counts.
const STEPS: [f64; 4] = [3e-3, 1e-3, 3e-4, 1e-4];

fn largest(x: &[f64]) -> f64 {
    x.iter().fold(0.0, |most, x| most.max(x.abs()))
}

/// Every row against the adjoint of its own number.
fn rows_agree<G: Geometry>(world: &World<G>) {
    let rollout = world.rollout(1, &[], Tape::Full).unwrap();
    let size = world.model().bodies.len() * G::DOF;
    for wrt in [Wrt::StatesAndControls, Wrt::Everything] {
        let all = rollout.jacobian(0, wrt, Weak::AsSolved, &Interrupt::NEVER).unwrap();
        for row in 0..2 * size {
            let mut unit = vec![0.0; size];
            let still = world.model().bodies[row % size / G::DOF].kind == BodyKind::Static;
            unit[row % size] = if still { 0.0 } else { 1.0 };
            let (poses, twists) = if row < size { (unit, Vec::new()) } else { (Vec::new(), unit) };
            let one = rollout.backward_wrt(&Cotangents { poses, twists }, wrt).unwrap();
            let lists =
                [(&all.poses, &one.poses), (&all.twists, &one.twists), (&all.controls, &one.controls), (&all.parameters, &one.parameters)];
            for (all, one) in lists.into_iter().filter(|(all, _)| !all.is_empty()) {
                let own = &all[row * one.len()..][..one.len()];
                let apart = own.iter().zip(one).fold(0.0f64, |most, (a, b)| most.max((a - b).abs()));
                assert!(apart <= SAME * (1.0 + largest(all)), "row {row}, {wrt:?}: {apart:e} of {:e}", largest(all));
            }
            assert_eq!(all.switches, one.total());
        }
    }
}

/// J u against fourth-order differences of the step.
fn differences_agree<G: Geometry>(world: &World<G>, seed: u64) {
    let mut random = Random::new(seed);
    let count = world.model().bodies.len() * G::DOF;
    let mut list = |count: usize| (0..count).map(|_| random.range(-1.0, 1.0)).collect::<Vec<f64>>();
    // Poses that move a contact which touches open it on one side only.
    let moved = if world.contacts().is_empty() { 0.1 } else { 0.0 };
    let (poses, twists) = (list(count).iter().map(|x| moved * x).collect(), list(count));
    let mut direction = Direction { poses, twists, ..Direction::default() };
    for (index, _) in world.model().bodies.iter().enumerate().filter(|(_, body)| body.kind == BodyKind::Static) {
        direction.poses[index * G::DOF..(index + 1) * G::DOF].fill(0.0);
        direction.twists[index * G::DOF..(index + 1) * G::DOF].fill(0.0);
    }
    let rollout = world.rollout(1, &[], Tape::Full).unwrap();
    let all = rollout.jacobian(0, Wrt::StatesAndControls, Weak::AsSolved, &Interrupt::NEVER).unwrap();
    let tangent: Vec<f64> = (0..2 * count)
        .map(|row| {
            (0..count).map(|k| all.poses[row * count + k] * direction.poses[k] + all.twists[row * count + k] * direction.twists[k]).sum()
        })
        .collect();
    let layout = rollout.layout();
    let after = |way: f64| {
        let there = altered(world, layout, &direction, way).expect("a state nearby").rollout(1, &[], Tape::Full).unwrap();
        assert!(there.same_decisions(&rollout), "decisions change within the difference");
        let (mut poses, twists) = relative(&there.states[1], &rollout.states[1]);
        poses.extend(twists);
        poses
    };
    let mut best = f64::INFINITY;
    for h in STEPS.map(|h| h * 0.1) {
        let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|k| after(k * h));
        let errors = (0..2 * count).map(|i| ((8.0 * (c[i] - b[i]) - (d[i] - a[i])) / (12.0 * h) - tangent[i]).abs());
        best = best.min(errors.fold(0.0, f64::max));
    }
    assert!(best <= DIFFERENCE * largest(&tangent), "{best:e} of {:e}", largest(&tangent));
}

/// The world of a text after some steps.
pub(crate) fn after(text: &str, steps: usize) -> World<carom_math::Spatial> {
    let scene = carom_scene::from_toml(text, "jacobian.toml").unwrap();
    let Scene::Spatial(scene) = scene else { unreachable!("scenes of space") };
    let mut world = World::new(scene.model, scene.state).unwrap();
    for _ in 0..steps {
        world.step().unwrap();
    }
    world
}

#[test]
fn a_legged_machine_in_flight_and_on_the_ground() {
    let mut touched = 0;
    for steps in [1, 60, 120] {
        let world = after(LEGGED, steps);
        touched += usize::from(!world.contacts().is_empty());
        rows_agree(&world);
        differences_agree(&world, 7 + steps as u64);
    }
    assert!(touched > 0, "it lands");
}

#[test]
fn joints_alone_and_strikes() {
    // Without anything on the coordinates the move is one map; at the strike a law is.
    let text = LEGGED
        .lines()
        .filter(|line| !["motor", "limits", "friction = 0.05"].iter().any(|key| line.starts_with(key)))
        .collect::<Vec<_>>()
        .join("\n");
    let world = after(&text, 1);
    rows_agree(&world);
    differences_agree(&world, 3);
    let Scene::Planar(scene) = carom_scene::from_toml(FALLING_ARM, "arm.toml").unwrap() else { unreachable!("a scene of the plane") };
    let mut world = World::new(scene.model, scene.state).unwrap();
    let mut struck = 0;
    for _ in 0..60 {
        if world.rollout(1, &[], Tape::Off).unwrap().reports[0].impacts > 0 {
            struck += 1;
            rows_agree(&world);
        }
        world.step().unwrap();
    }
    assert!(struck > 0, "the arm strikes");
}
