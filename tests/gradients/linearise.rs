//! The derivative of a step in joint coordinates against fourth-order differences of the step in these coordinates, and against the derivative by bodies.

use crate::jacobian::{LEGGED, after};
use crate::scenes::FALLING_ARM;
use carom_dynamics::gradient::{Linearised, Tape, Weak, Wrt};
use carom_dynamics::{Interrupt, World};
use carom_geometry::Geometry;
use carom_math::{Space, Vector};
use carom_scene::Scene;
use nalgebra::DMatrix;

/// A trunk that carries one joint of every kind with coordinates, in a row, and one more on the ground.
const KINDS: &str = r#"
dimension = 3
step = 0.004
[[body]]
name = "trunk"
shape = { box = [0.6, 0.3, 0.2] }
position = [0, 0, 2]
rotation = [0.9, 0.2, 0.3, 0.1]
[[body]]
name = "first"
shape = { box = [0.4, 0.1, 0.12] }
position = [0.5, 0.1, 2]
[[body]]
name = "second"
shape = { box = [0.1, 0.4, 0.12] }
position = [0.8, 0.4, 2]
[[body]]
name = "third"
shape = { box = [0.1, 0.12, 0.3] }
position = [0.8, 0.6, 1.7]
[[body]]
name = "fourth"
shape = { box = [0.2, 0.12, 0.3] }
position = [1.0, 0.7, 1.5]
[[body]]
name = "fifth"
shape = { box = [0.2, 0.1, 0.1] }
position = [1.2, 0.7, 1.3]
[[body]]
name = "sixth"
shape = { box = [0.2, 0.1, 0.15] }
position = [-0.6, 0, 2]
[[joint]]
name = "ball"
kind = "ball"
between = ["first", "trunk"]
anchor = [0.3, 0.05, 2]
[[joint]]
name = "universal"
kind = "universal"
between = ["second", "first"]
anchor = [0.7, 0.2, 2.02]
axes = [[1, 0, 0], [0, 1, 0]]
[[joint]]
name = "cylindrical"
kind = "cylindrical"
between = ["second", "third"]
anchor = [0.8, 0.5, 1.8]
axis = [0, 0.6, 0.8]
[[joint]]
name = "planar"
kind = "planar"
between = ["fourth", "third"]
anchor = [0.9, 0.65, 1.6]
axis = [0, 0, 1]
[[joint]]
name = "slider"
kind = "slider"
between = ["fifth", "fourth"]
anchor = [1.1, 0.7, 1.4]
axis = [0.6, 0.8, 0]
[[joint]]
name = "hinge"
kind = "hinge"
between = ["trunk", "sixth"]
anchor = [-0.4, 0, 2.05]
axis = [0, 0.6, 0.8]
"#;

/// Relative error allowed of fourth-order differences.
const DIFFERENCE: f64 = 1e-8;

/// Steps of the differences; the best counts.
const STEPS: [f64; 4] = [3e-3, 1e-3, 3e-4, 1e-4];

/// Coordinates that are components of rotation vectors, by threes: of roots, whose tangents turn them, and of balls.
fn turning<G: Geometry>(world: &World<G>) -> Vec<usize> {
    if G::ANG == 1 {
        return Vec::new();
    }
    let names = world.joint_names();
    let of = |stem: &str| names.iter().position(|name| *name == format!("{stem}.0"));
    let roots = world.model().bodies.iter().filter_map(|body| of(&body.name)).map(|first| first + 3);
    let balls = world.model().joints.iter().filter(|joint| joint.kind.name() == "ball").filter_map(|joint| of(&joint.name));
    roots.chain(balls).collect()
}

/// The world with one coordinate (the first nc) or one rate changed.
fn changed<G: Geometry>(world: &World<G>, which: usize, by: f64) -> World<G> {
    let names = world.joint_names();
    let (mut q, mut v) = (world.joint_q(), world.joint_v());
    if which >= names.len() {
        v[which - names.len()] += by;
    } else if let Some(first) = turning(world).into_iter().find(|first| (*first..first + 3).contains(&which)) {
        let mut change = G::Ang::zero();
        change[which - first] = by;
        let turned = G::log(G::turn(G::exp(G::Ang::from_slice(&q[first..])), change));
        q[first..first + 3].copy_from_slice(turned.as_slice());
    } else {
        q[which] += by;
    }
    let mut out = world.copy();
    let pairs = |x: &[f64]| names.iter().map(String::as_str).zip(x.iter().copied()).collect::<Vec<_>>();
    out.set_joints(&pairs(&q), &pairs(&v)).unwrap();
    out
}

/// Coordinates and rates of one world as changes from those of another.
fn apart<G: Geometry>(there: &World<G>, here: &World<G>) -> Vec<f64> {
    let (q, from) = (there.joint_q(), here.joint_q());
    let mut out: Vec<f64> = q.iter().zip(&from).map(|(a, b)| a - b).collect();
    for first in turning(here) {
        let [a, b] = [&q, &from].map(|x| G::exp(G::Ang::from_slice(&x[first..])));
        out[first..first + 3].copy_from_slice(G::log(G::compose(a, G::inverse(b))).as_slice());
    }
    out.extend(there.joint_v().iter().zip(here.joint_v()).map(|(a, b)| a - b));
    out
}

/// Columns of A, those of rates alone where poses would open a contact that touches, and of B.
fn agrees<G: Geometry>(world: &World<G>, what: &str) -> Linearised {
    let found = world.linearise(&[], Weak::AsSolved, &Interrupt::NEVER).unwrap();
    let count = world.joint_names().len();
    assert_eq!(found.a.shape(), (2 * count, 2 * count));
    // The same state as the changed ones have it: what was remembered of contacts is forgotten.
    let base = changed(world, 0, 0.0);
    let start = base.rollout(1, &[], Tape::Full).unwrap();
    let mut here = base.copy();
    here.step().unwrap();
    let first = if world.contacts().is_empty() { 0 } else { count };
    let scale = found.a.amax();
    for column in first..2 * count {
        let mut best = f64::INFINITY;
        for h in STEPS {
            let after = |k: f64| {
                let mut there = changed(world, column, k * h);
                let same = there.rollout(1, &[], Tape::Full).unwrap().same_decisions(&start);
                there.step().unwrap();
                same.then(|| apart(&there, &here))
            };
            let [Some(a), Some(b), Some(c), Some(d)] = [-2.0, -1.0, 1.0, 2.0].map(after) else { continue };
            let slope = |i: usize| (8.0 * (c[i] - b[i]) - (d[i] - a[i])) / (12.0 * h);
            best = best.min((0..2 * count).fold(0.0, |most, i| most.max((slope(i) - found.a[(i, column)]).abs())));
        }
        assert!(best <= DIFFERENCE * scale, "{what}, column {column} of {}: {best:e} of {scale:e}", 2 * count);
    }
    let controls = world.model().control_count();
    assert_eq!(found.b.shape(), (2 * count, controls));
    for column in 0..controls {
        let after = |u: f64| {
            let mut given = vec![0.0; controls];
            given[column] = u;
            let mut there = base.copy();
            there.step_with(&given).unwrap();
            apart(&there, &here)
        };
        let h = 1e-3;
        let [a, b, c, d] = [-2.0, -1.0, 1.0, 2.0].map(|k| after(k * h));
        for i in 0..2 * count {
            let slope = (8.0 * (c[i] - b[i]) - (d[i] - a[i])) / (12.0 * h);
            let error = (slope - found.b[(i, column)]).abs();
            assert!(error <= DIFFERENCE * found.b.amax().max(1.0), "{what}, control {column}: {error:e} of {:e}", found.b.amax());
        }
    }
    found
}

#[test]
fn a_legged_machine_in_flight_and_on_the_ground() {
    let mut touched = 0;
    for steps in [1, 60, 120] {
        let world = after(LEGGED, steps);
        touched += usize::from(!world.contacts().is_empty());
        let found = agrees(&world, "legs");
        assert!(found.switches.is_exact(), "{:?}", found.switches);
        assert!(found.b.amax() > 1e-3, "controls do something");
    }
    assert!(touched > 0, "it lands");
}

/// Rotors on every leg: their rows follow those of the hinges.
#[test]
fn a_legged_machine_with_rotors() {
    let geared = LEGGED.replace("kind = \"hinge\"", "kind = \"hinge\"\narmature = 0.02");
    assert_ne!(geared, LEGGED);
    for steps in [1, 60, 120] {
        let world = after(&geared, steps);
        let found = agrees(&world, "geared legs");
        let plain = after(LEGGED, steps).linearise(&[], Weak::AsSolved, &Interrupt::NEVER).unwrap();
        assert!((found.b - &plain.b).amax() > 0.05 * plain.b.amax(), "rotors make the legs slower");
    }
}

#[test]
fn every_kind_of_joint() {
    let mut world = after(KINDS, 0);
    let names = world.joint_names();
    assert_eq!(names.len(), 6 + 3 + 2 + 2 + 3 + 1 + 1);
    let rates: Vec<(&str, f64)> = names.iter().enumerate().map(|(i, name)| (name.as_str(), (0.9 * i as f64 + 0.4).sin() * 2.0)).collect();
    let turned = [("universal.0", 0.3), ("universal.1", -0.4), ("cylindrical.0", 0.05), ("ball.1", 0.5), ("hinge", 0.7)];
    world.set_joints(&turned, &rates).unwrap();
    agrees(&world, "kinds");
}

#[test]
fn through_strikes_in_the_plane() {
    let Scene::Planar(scene) = carom_scene::from_toml(FALLING_ARM, "arm.toml").unwrap() else { unreachable!("a scene of the plane") };
    let mut world = World::new(scene.model, scene.state).unwrap();
    let mut struck = 0;
    for _ in 0..60 {
        if world.rollout(1, &[], Tape::Off).unwrap().reports[0].impacts > 0 && world.contacts().is_empty() {
            struck += 1;
            agrees(&world, "strike");
        }
        world.step().unwrap();
    }
    assert!(struck > 0, "the arm strikes");
}

#[test]
fn it_is_the_derivative_by_bodies_in_other_words() {
    let world = after(LEGGED, 60);
    let found = world.linearise(&[], Weak::AsSolved, &Interrupt::NEVER).unwrap();
    let rollout = world.rollout(1, &[], Tape::Full).unwrap();
    let all = rollout.jacobian(0, Wrt::StatesAndControls, Weak::AsSolved, &Interrupt::NEVER).unwrap();
    // Rates move bodies along T, before and after, whatever else they do.
    let mut next = world.copy();
    next.step().unwrap();
    let size = world.model().bodies.len() * carom_math::Spatial::DOF;
    let by_rates = DMatrix::from_row_slice(2 * size, size, &all.twists) * world.tangent_map().dense();
    let count = world.joint_names().len();
    let expected = next.tangent_map().dense() * found.a.view((0, count), (count, count));
    let error = (by_rates.rows(0, size) - &expected).amax();
    assert!(error <= 1e-10 * expected.amax(), "{error:e}");
}
