//! Time and accuracy of the step on named scenes, side by side with what other engines need for scenes of the same shape.
//!
//! Run: `cargo run --release -p carom --example bench`. Each line warms its scene up, then times blocks of steps on one thread and gives the
//! least and the middle time of a step, and what the same steps did to the invariants. Peer figures are minima measured elsewhere on a
//! machine of the same class (one thread); compare orders, not digits.

use carom::prelude::*;
use carom::scene::{Scene, from_toml};
use std::time::Instant;

/// Blocks timed per scene; the least is quoted because other work only ever adds.
const BLOCKS: usize = 9;

struct Line {
    name: &'static str,
    scene: String,
    warm_up: usize,
    steps: usize,
    peers: &'static str,
}

fn stack(count: usize, dimension: usize, step: f64) -> String {
    let (ground, shape, position, offset) = if dimension == 2 {
        ("[0, 1]", "[0.5, 0.5]", "[0, 0.25]", "[0, 0.5]")
    } else {
        ("[0, 0, 1]", "[0.5, 0.5, 0.5]", "[0, 0, 0.25]", "[0, 0, 0.5]")
    };
    format!(
        "dimension = {dimension}\nstep = {step}\n[[body]]\nkind = \"static\"\nshape = {{ half_space = {ground} }}\n[[repeat]]\ncount = {count}\n\
         offset = {offset}\nbody = {{ name = \"box\", shape = {{ box = {shape} }}, mass = 1, position = {position} }}\n"
    )
}

fn chain(links: usize, step: f64) -> String {
    let mut text = format!("dimension = 2\nstep = {step}\n");
    for i in 0..links {
        let x = 0.05 + 0.1 * i as f64;
        text += &format!("[[body]]\nname = \"link{i}\"\nmass = 0.1\ninertia = {}\nposition = [{x}, 0]\n", 0.1 * 0.01 / 12.0);
    }
    for i in 0..links {
        let other = if i == 0 { "world".to_string() } else { format!("link{}", i - 1) };
        text += &format!("[[joint]]\nkind = \"hinge\"\nbetween = [\"link{i}\", \"{other}\"]\nanchor = [{}, 0]\n", 0.1 * i as f64);
    }
    text
}

/// Pairs of boxes far from each other: separate islands.
fn islands(count: usize) -> String {
    format!(
        "dimension = 2\n[[body]]\nkind = \"static\"\nshape = {{ half_space = [0, 1] }}\n[[repeat]]\ncount = [{count}, 2]\noffset = [[2, 0], [0, 0.5]]\n\
         body = {{ name = \"box\", shape = {{ box = [0.5, 0.5] }}, mass = 1, position = [0, 0.25] }}\n"
    )
}

fn embedded(name: &str) -> String {
    carom::scene::scene(name).map_or_else(String::new, |s| s.text.to_string())
}

fn measure<G: carom::geometry::Geometry>(mut world: World<G>, line: &Line) -> Result<(), StepError> {
    for _ in 0..line.warm_up {
        world.step()?;
    }
    let mut times = Vec::with_capacity(BLOCKS);
    let (mut residual, mut joint, mut solves) = (0.0f64, 0.0f64, 0);
    for _ in 0..BLOCKS {
        let start = Instant::now();
        for _ in 0..line.steps {
            let report = world.step()?;
            residual = residual.max(report.residual);
            joint = joint.max(report.joint_error);
            solves += report.solves;
        }
        times.push(start.elapsed().as_secs_f64() / line.steps as f64 * 1e6);
    }
    times.sort_by(f64::total_cmp);
    let ledger = world.ledger();
    let drift = if ledger.exchanged > 1e-9 { format!("{:.0e}", ledger.drift.abs() / ledger.exchanged) } else { "-".into() };
    println!(
        "{:<28} {:>9.2} {:>9.2} {:>7.1} {:>9.0e} {:>9.0e} {:>9.0e} {:>7}  {}",
        line.name,
        times[0],
        times[BLOCKS / 2],
        solves as f64 / (BLOCKS * line.steps) as f64,
        residual,
        joint,
        -world.deepest(),
        drift,
        line.peers
    );
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let lines = [
        Line { name: "stack of 5, plane", scene: stack(5, 2, 1.0 / 240.0), warm_up: 50, steps: 400, peers: "lcp-physics 80 763" },
        Line { name: "stack of 10, plane", scene: stack(10, 2, 1.0 / 240.0), warm_up: 50, steps: 200, peers: "" },
        Line {
            name: "stack of 10, space",
            scene: stack(10, 3, 1.0 / 240.0),
            warm_up: 50,
            steps: 100,
            peers: "MuJoCo 46, Rapier 21 (sinks 5 mm), Drake 2 347",
        },
        Line {
            name: "pyramid of 55, plane",
            scene: embedded("pyramid"),
            warm_up: 20,
            steps: 10,
            peers: "in space: MuJoCo 935, Rapier 142 (sinks 2 mm)",
        },
        Line {
            name: "10 hinged links, 1 ms",
            scene: chain(10, 0.001),
            warm_up: 50,
            steps: 400,
            peers: "MuJoCo 3.4 (loses 56 %), Rapier 20 (loses 55 %)",
        },
        Line {
            name: "100 hinged links, 1 ms",
            scene: chain(100, 0.001),
            warm_up: 50,
            steps: 50,
            peers: "MuJoCo 68 (diverges), Rapier 190 (loses 30 %)",
        },
        Line { name: "pool break", scene: embedded("pool_break"), warm_up: 0, steps: 40, peers: "" },
        Line {
            name: "four-bar",
            scene: embedded("four_bar"),
            warm_up: 50,
            steps: 200,
            peers: "MuJoCo 3.4 (gap 1e-3), Rapier 8 (gap 3e-5)",
        },
        Line { name: "domino row", scene: embedded("domino_row"), warm_up: 100, steps: 20, peers: "" },
        Line { name: "10 islands of 2 boxes", scene: islands(10), warm_up: 20, steps: 50, peers: "" },
        Line { name: "100 islands of 2 boxes", scene: islands(100), warm_up: 20, steps: 10, peers: "" },
        Line { name: "1000 islands of 2 boxes", scene: islands(1000), warm_up: 20, steps: 2, peers: "" },
    ];
    println!(
        "{:<28} {:>9} {:>9} {:>7} {:>9} {:>9} {:>9} {:>7}  peers, us/step",
        "scene", "us min", "us mid", "solves", "residual", "joint", "overlap", "drift"
    );
    for line in &lines {
        match from_toml(&line.scene, line.name)? {
            Scene::Planar(scene) => measure(World::new(scene.model, scene.state)?, line)?,
            Scene::Spatial(scene) => measure(World::new(scene.model, scene.state)?, line)?,
        }
    }
    Ok(())
}
