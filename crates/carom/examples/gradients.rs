//! What a gradient costs: time of a step, of a recorded step and of its backward pass, and the bytes of its tape.
//!
//! `cargo run --release --example gradients [scene [repeats]]`: one scene alone; its backward pass so many times and no clock, for a profiler.

use carom_dynamics::World;
use carom_dynamics::gradient::{Cotangents, Tape};
use carom_geometry::Geometry;
use carom_scene::{Scene, SceneOf, scene};
use carom_tests::crowds::{Solids, pile, planar_pile, pyramid, wall};

/// Rounds of which the fastest counts: of few bodies, and of many.
const ROUNDS: [usize; 2] = [20, 5];
/// Bodies from which on they are many.
const MANY: usize = 13;

/// Microseconds in a second.
const MICRO: f64 = 1e6;

/// Seconds that this thread works on a piece of work, so that other work on the machine does not count.
#[cfg(unix)]
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let now = || {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
    };
    let start = now();
    let result = work();
    (now() - start, result)
}

/// Seconds that a piece of work takes.
#[cfg(not(unix))]
fn timed<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let start = std::time::Instant::now();
    let result = work();
    (start.elapsed().as_secs_f64(), result)
}

/// Times `steps` steps of a scene after `warm` others.
fn run<G: Geometry>(name: &str, scene: SceneOf<G>, warm: usize, steps: usize) {
    let mut world = World::new(scene.model, scene.state).expect("the scene is sound");
    for _ in 0..warm {
        world.step().expect("the scene steps");
    }
    let size = world.model().bodies.len() * G::DOF;
    let cotangents = Cotangents { poses: vec![1.0; size], twists: vec![0.5; size] };
    if let Some(repeats) = std::env::args().nth(2).and_then(|text| text.parse::<usize>().ok()) {
        let rollout = world.rollout(steps, &[], Tape::Full).expect("the scene steps");
        for _ in 0..repeats {
            rollout.backward(&cotangents).expect("the rollout has a tape");
        }
        return;
    }
    let mut best = [f64::MAX; 3];
    let (mut bytes, mut flagged) = (0, 0);
    let rounds = ROUNDS[usize::from(world.model().bodies.len() > MANY)];
    for _ in 0..rounds {
        let (forward, _) = timed(|| world.rollout(steps, &[], Tape::Off).expect("the scene steps"));
        let (recorded, rollout) = timed(|| world.rollout(steps, &[], Tape::Full).expect("the scene steps"));
        let (backward, gradient) = timed(|| rollout.backward(&cotangents).expect("the rollout has a tape"));
        for (least, time) in best.iter_mut().zip([forward, recorded, backward]) {
            *least = least.min(time / steps as f64 * MICRO);
        }
        bytes = rollout.tape_bytes() / steps;
        flagged = gradient.switches.iter().filter(|s| !s.is_exact()).count();
    }
    let [forward, recorded, backward] = best;
    let parts = world.model().bodies.len() + world.contacts().len();
    println!(
        "{name:16} forward {forward:8.1} us  recorded {recorded:8.1}  backward {backward:8.1}  ratio {:5.2}  tape {bytes} B a step, {} a body and contact, flagged {flagged}/{steps}",
        backward / forward,
        bytes / parts,
    );
}

/// A hanging chain of hinged bars.
fn chain(dimension: usize, count: usize) -> String {
    let (rest, section) = if dimension == 2 { ("0", "0.02") } else { ("0, 0", "0.02, 0.02") };
    let axis = if dimension == 2 { "" } else { "axis = [0, 1, 0]\n" };
    let mut text = format!("dimension = {dimension}\n");
    for i in 0..count {
        let (at, anchor) = (0.05 + 0.1 * i as f64, 0.1 * i as f64);
        let before = if i == 0 { "world".to_string() } else { format!("b{}", i - 1) };
        text += &format!("[[body]]\nname = \"b{i}\"\nshape = {{ box = [0.1, {section}] }}\nmass = 0.1\nposition = [{at}, {rest}]\n");
        text += &format!("[[joint]]\nkind = \"hinge\"\n{axis}between = [\"b{i}\", \"{before}\"]\nanchor = [{anchor}, {rest}]\n");
    }
    text
}

/// A hub on an axle with bars hinged to its rim.
fn hub(dimension: usize, count: usize) -> String {
    let (rest, axis, inertia) =
        if dimension == 2 { ("", "", ["5", "1e-4"]) } else { (", 0", "axis = [0, 0, 1]\n", ["[3, 3, 5]", "[1e-5, 1e-4, 1e-4]"]) };
    let mut text = format!("dimension = {dimension}\n[[body]]\nname = \"hub\"\nmass = 10\ninertia = {}\n", inertia[0]);
    text += &format!("[[joint]]\nkind = \"hinge\"\n{axis}between = [\"hub\", \"world\"]\nanchor = [0, 0{rest}]\n");
    for i in 0..count {
        let (sin, cos) = (std::f64::consts::TAU * i as f64 / count as f64).sin_cos();
        let (x, y) = (1.05 * cos, 1.05 * sin);
        text += &format!("[[body]]\nname = \"b{i}\"\nmass = 0.1\ninertia = {}\nposition = [{x}, {y}{rest}]\n", inertia[1]);
        text += &format!("[[joint]]\nkind = \"hinge\"\n{axis}between = [\"b{i}\", \"hub\"]\nanchor = [{cos}, {sin}{rest}]\n");
    }
    text
}

/// A resting stack of boxes.
fn stack(dimension: usize, count: usize) -> String {
    let (side, zeros) = if dimension == 2 { ("0.4, 0.4", "0") } else { ("0.4, 0.4, 0.4", "0, 0") };
    let mut text =
        format!("dimension = {dimension}\n[[body]]\nname = \"floor\"\nkind = \"static\"\nshape = {{ half_space = [{zeros}, 1] }}\n");
    for i in 0..count {
        let height = 0.2 + 0.4 * i as f64;
        text += &format!("[[body]]\nname = \"b{i}\"\nshape = {{ box = [{side}] }}\nposition = [{zeros}, {height}]\n");
    }
    text
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // One thread for all, this one, so that its time is the whole.
    rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread().build_global()?;
    let scenes = [
        ("chain 10", chain(2, 10), 20, 100),
        ("chain 100", chain(2, 100), 5, 20),
        ("chain3 10", chain(3, 10), 20, 100),
        ("stack 5", stack(2, 5), 20, 100),
        ("stack3 5", stack(3, 5), 20, 50),
        ("stack3 10", stack(3, 10), 20, 50),
        ("hub_200", scene("hub_200").expect("a classic").text.to_string(), 5, 20),
        ("hub 200", hub(2, 200), 5, 20),
        ("hub 400", hub(2, 400), 5, 20),
        ("hub3 200", hub(3, 200), 5, 10),
        ("pyramid 15", pyramid(5, 1.0 / 240.0), 20, 20),
        ("pyramid 55", pyramid(10, 1.0 / 240.0), 20, 10),
        ("wall 16", wall(4, 4, 0.0, 1.0 / 240.0, false), 20, 10),
        ("discs 30 falling", planar_pile(30, 5, 0.005), 100, 10),
        ("discs 30", planar_pile(30, 5, 0.005), 600, 10),
        ("balls 27 falling", pile(Solids::Balls, 27, 0.5, 1.0 / 240.0, 1), 100, 10),
        ("balls 27", pile(Solids::Balls, 27, 0.5, 1.0 / 240.0, 1), 480, 10),
        ("boxes 27 falling", pile(Solids::Boxes, 27, 0.5, 1.0 / 240.0, 1), 60, 10),
        ("boxes 27", pile(Solids::Boxes, 27, 0.5, 1.0 / 240.0, 1), 480, 10),
    ];
    let only = std::env::args().nth(1);
    for (name, text, warm, steps) in scenes {
        if only.as_ref().is_some_and(|only| !name.starts_with(only.as_str())) {
            continue;
        }
        match carom_scene::from_toml(&text, name).expect("the scene parses") {
            Scene::Planar(scene) => run(name, scene, warm, steps),
            Scene::Spatial(scene) => run(name, scene, warm, steps),
        }
    }
    Ok(())
}
