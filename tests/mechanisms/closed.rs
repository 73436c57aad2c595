//! Every embedded mechanism at sixty steps a second: no joint opens, at any step.

use crate::lab::{FRAME, read, world};
use carom_dynamics::options::Integrator;
use carom_geometry::Geometry;
use carom_math::Vector;
use carom_scene::{Scene, SceneOf, from_toml};
use carom_tests::{full, holds};

/// Largest opening of a joint [m or rad].
const GAP: f64 = 1e-10;

/// Runs a scene for a time, or whole with `CAROM_FULL=1`, and bounds its joint error at every step.
fn run<G: Geometry>(name: &str, scene: SceneOf<G>, seconds: f64) {
    let seconds = if full() { scene.duration } else { seconds.min(scene.duration) };
    let mut world = world(scene, FRAME, Integrator::Verlet);
    let start = world.state().clone();
    let (mut gap, mut unconverged, mut moved) = (0.0f64, 0, 0.0f64);
    for _ in 0..(seconds / FRAME).round() as usize {
        let report = world.step().unwrap_or_else(|error| panic!("{name}: {error}"));
        gap = gap.max(world.joint_error());
        unconverged += usize::from(report.unconverged);
    }
    for (before, after) in start.poses.iter().zip(&world.state().poses) {
        moved = moved.max((after.position - before.position).norm());
    }
    assert!(moved > 1e-3, "{name}: the mechanism moves, {moved:e} m");
    let mut good = holds(&format!("{name}, {seconds} s at 1/60 s: joint gap [m]"), gap, GAP);
    good &= holds(&format!("{name}, {seconds} s at 1/60 s: unconverged steps"), unconverged as f64, 0.0);
    assert!(good);
}

/// An embedded scene.
fn stays_closed(name: &str, seconds: f64) {
    match read(name) {
        Scene::Planar(scene) => run(name, scene, seconds),
        Scene::Spatial(scene) => run(name, scene, seconds),
    }
}

macro_rules! stay_closed {
    ($($name:ident: $seconds:expr,)*) => {
        $(#[test]
        fn $name() {
            stays_closed(stringify!($name), $seconds);
        })*
    };
}

// The longer a step takes, the fewer of them by default.
stay_closed! {
    chain_10: 5.0,
    chain_100: 1.0,
    chain_1000: 0.1,
    chain_10000: 0.02,
    clock: 5.0,
    closed_chain: 4.0,
    crane: 3.0,
    four_bar: 10.0,
    hub_200: 0.1,
    jansen_leg: 10.0,
    net: 0.6,
    ragdoll: 1.0,
    rope_bridge: 2.0,
    slider_crank: 10.0,
    strandbeest: 5.0,
    ten_legs: 5.0,
    tree: 2.0,
    trike: 3.0,
}

/// What the document shows how to write is a mechanism that works.
#[test]
fn the_example_of_the_document() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/mechanisms.md");
    let text = std::fs::read_to_string(path).expect("the document");
    let examples: Vec<&str> = text.split("```toml\n").skip(1).filter_map(|piece| piece.split("```").next()).collect();
    assert!(!examples.is_empty());
    for example in examples {
        match from_toml(example, "example.toml").unwrap_or_else(|error| panic!("{error}")) {
            Scene::Planar(scene) => run("the document's example", scene, 3.0),
            Scene::Spatial(scene) => run("the document's example", scene, 3.0),
        }
    }
}
