//! Time and accuracy of the step on mechanisms: chains, trees, ladders of loops, hubs, legs on a crank, a chain on the ground.
//!
//! Run: `cargo run --release -p carom --example mechanisms [name ...]`; with names, only the lines that contain one of them. Each line gives the
//! least and the middle time of a step over several blocks, the time of a body, and what the same steps did to the joints and to the energy. Chains, trees
//! and ladders of twice as many links are set against those of half as many, below their lines: steps with as many solves against each other, so that
//! the ratio is one of equal work per link.

use carom::prelude::*;
use carom::scene::{Scene, from_toml};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Instant;

/// Blocks timed per scene; the least is quoted because other work only ever adds.
const BLOCKS: usize = 7;

/// Length \[m\] and mass \[kg\] of a link.
const LINK: f64 = 0.1;
const MASS: f64 = 0.1;

/// Links of the chains, trees and ladders.
const LINKS: [usize; 10] = [100, 200, 400, 800, 1600, 2500, 3200, 5000, 10_000, 20_000];

/// Links of one loop of a ladder: two of the rails and a rung.
const LADDER_LINKS: usize = 3;

struct Line {
    name: String,
    text: Box<dyn Fn() -> String>,
    warm_up: usize,
    steps: usize,
}

fn line(name: impl Into<String>, text: impl Fn() -> String + 'static, warm_up: usize, steps: usize) -> Line {
    Line { name: name.into(), text: Box::new(text), warm_up, steps }
}

fn body(text: &mut String, name: &str, position: &str, angle: f64, shape: &str) {
    let turned = if angle == 0.0 { String::new() } else { format!("angle = {angle}\n") };
    let _ = write!(text, "[[body]]\nname = \"{name}\"\nmass = {MASS}\nposition = {position}\n{turned}{shape}\n");
}

fn hinge(text: &mut String, a: &str, b: &str, anchor: &str, axis: &str) {
    let _ = write!(text, "[[joint]]\nkind = \"hinge\"\nbetween = [\"{a}\", \"{b}\"]\nanchor = {anchor}\n{axis}\n");
}

fn rod() -> String {
    format!("inertia = {}", MASS * LINK * LINK / 12.0)
}

/// A planar chain, horizontal, its first end held.
fn chain(links: usize, step: f64) -> String {
    let mut text = format!("dimension = 2\nstep = {step}\n");
    for i in 0..links {
        body(&mut text, &format!("l{i}"), &format!("[{}, 0]", LINK * (i as f64 + 0.5)), 0.0, &rod());
    }
    for i in 0..links {
        let other = if i == 0 { "world".into() } else { format!("l{}", i - 1) };
        hinge(&mut text, &format!("l{i}"), &other, &format!("[{}, 0]", LINK * i as f64), "");
    }
    text
}

/// The same in space; `twisted` turns every other axis so that the chain leaves its plane.
fn spatial_chain(links: usize, step: f64, twisted: bool) -> String {
    let mut text = format!("dimension = 3\nstep = {step}\n");
    let (along, across) = (MASS * 0.02 * 0.02 / 6.0, MASS * LINK * LINK / 12.0);
    for i in 0..links {
        let inertia = format!("inertia = [{along}, {across}, {across}]");
        body(&mut text, &format!("l{i}"), &format!("[{}, 0, 0]", LINK * (i as f64 + 0.5)), 0.0, &inertia);
    }
    for i in 0..links {
        let other = if i == 0 { "world".into() } else { format!("l{}", i - 1) };
        let axis = if twisted && i % 2 == 1 { "axis = [0, 0.6, 0.8]" } else { "axis = [0, 1, 0]" };
        hinge(&mut text, &format!("l{i}"), &other, &format!("[{}, 0, 0]", LINK * i as f64), axis);
    }
    text
}

/// A binary tree of planar links.
fn tree(links: usize, step: f64) -> String {
    let mut text = format!("dimension = 2\nstep = {step}\n");
    let mut ends: Vec<(f64, f64)> = Vec::new();
    let mut joints = String::new();
    for i in 0..links {
        let (from, other, level) =
            if i == 0 { ((0.0, 0.0), "world".to_string(), 0) } else { (ends[(i - 1) / 2], format!("l{}", (i - 1) / 2), (i + 1).ilog2()) };
        let angle =
            -std::f64::consts::FRAC_PI_2 + if i == 0 { 0.0 } else { (if i % 2 == 1 { -1.0 } else { 1.0 }) * 0.8 / f64::from(level) };
        let (sin, cos) = angle.sin_cos();
        ends.push((from.0 + LINK * cos, from.1 + LINK * sin));
        let centre = format!("[{}, {}]", from.0 + 0.5 * LINK * cos, from.1 + 0.5 * LINK * sin);
        body(&mut text, &format!("l{i}"), &centre, angle, &rod());
        hinge(&mut joints, &format!("l{i}"), &other, &format!("[{}, {}]", from.0, from.1), "");
    }
    text + &joints
}

/// Two rails hinged link by link with a rung at every hinge: a ladder of loops, hanging by its first end.
fn ladder(cells: usize, step: f64) -> String {
    let mut text = format!("dimension = 2\nstep = {step}\n");
    let mut joints = String::new();
    for i in 0..cells {
        let x = LINK * i as f64;
        for (rail, y) in [("a", 0.0), ("b", LINK)] {
            body(&mut text, &format!("{rail}{i}"), &format!("[{}, {y}]", x + 0.5 * LINK), 0.0, &rod());
            let other = if i == 0 { "world".into() } else { format!("{rail}{}", i - 1) };
            hinge(&mut joints, &format!("{rail}{i}"), &other, &format!("[{x}, {y}]"), "");
            hinge(&mut joints, &format!("r{i}"), &format!("{rail}{i}"), &format!("[{}, {y}]", x + LINK), "");
        }
        body(&mut text, &format!("r{i}"), &format!("[{}, {}]", x + LINK, 0.5 * LINK), std::f64::consts::FRAC_PI_2, &rod());
    }
    text + &joints
}

/// A heavy hub with spokes hinged to its rim.
fn hub(spokes: usize, step: f64) -> String {
    let mut text = format!("dimension = 2\nstep = {step}\n[[body]]\nname = \"hub\"\nmass = 10\ninertia = 5\nposition = [0, 0]\n");
    hinge(&mut text, "hub", "world", "[0, 0]", "");
    let mut joints = String::new();
    for i in 0..spokes {
        let angle = std::f64::consts::TAU * i as f64 / spokes as f64;
        let (sin, cos) = angle.sin_cos();
        body(&mut text, &format!("l{i}"), &format!("[{}, {}]", (1.0 + 0.5 * LINK) * cos, (1.0 + 0.5 * LINK) * sin), angle, &rod());
        hinge(&mut joints, &format!("l{i}"), "hub", &format!("[{cos}, {sin}]"), "");
    }
    text + &joints
}

/// Four-bars on one crank that a torque drives.
fn legs(count: usize, step: f64) -> String {
    let mut text = format!("dimension = 2\nstep = {step}\n");
    let mut joints = String::new();
    let tip = (0.0, 0.5);
    let mut bar = |name: &str, a: (f64, f64), b: (f64, f64)| {
        let (x, y) = (b.0 - a.0, b.1 - a.1);
        let length = x.hypot(y);
        let _ = write!(
            text,
            "[[body]]\nname = \"{name}\"\nmass = {length}\ninertia = {}\nposition = [{}, {}]\nangle = {}\n",
            length.powi(3) / 12.0,
            0.5 * (a.0 + b.0),
            0.5 * (a.1 + b.1),
            y.atan2(x)
        );
    };
    bar("crank", (0.0, 0.0), tip);
    hinge(&mut joints, "crank", "world", "[0, 0]", "");
    for i in 0..count {
        let turn = std::f64::consts::TAU * i as f64 / count as f64;
        let ground = (2.0 * turn.cos(), 2.0 * turn.sin());
        // Where coupler (2 m) and rocker (1.5 m) meet.
        let (dx, dy) = (ground.0 - tip.0, ground.1 - tip.1);
        let d = dx.hypot(dy);
        let along = (d * d + 4.0 - 2.25) / (2.0 * d);
        let up = (4.0 - along * along).sqrt();
        let meet = (tip.0 + (along * dx - up * dy) / d, tip.1 + (along * dy + up * dx) / d);
        bar(&format!("c{i}"), tip, meet);
        bar(&format!("r{i}"), ground, meet);
        hinge(&mut joints, &format!("c{i}"), "crank", "[0, 0.5]", "");
        hinge(&mut joints, &format!("r{i}"), "world", &format!("[{}, {}]", ground.0, ground.1), "");
        hinge(&mut joints, &format!("c{i}"), &format!("r{i}"), &format!("[{}, {}]", meet.0, meet.1), "");
    }
    if count > 1 {
        joints += "[[force]]\nbody = \"crank\"\ntorque = 2\n";
    }
    text + &joints
}

/// A chain at rest on the ground: its links are welded in pairs, and a ball at the middle of each pair carries it.
fn resting(links: usize, step: f64, solver: &str) -> String {
    let mut text = format!(
        "dimension = 2\nstep = {step}\nsolver = \"{solver}\"\n[[body]]\nname = \"ground\"\nkind = \"static\"\nshape = {{ half_space = [0, 1] }}\n"
    );
    for i in 0..links {
        let ball = |at: f64| format!("{}\nshape = {{ ball = 0.02, at = [{}, 0] }}", rod(), at * LINK);
        let shape = if i % 2 == 0 {
            ball(-0.5)
        } else if i + 1 == links {
            ball(0.5)
        } else {
            rod()
        };
        body(&mut text, &format!("l{i}"), &format!("[{}, 0.02]", LINK * (i as f64 + 0.5)), 0.0, &shape);
    }
    for i in 1..links {
        let kind = if i % 2 == 0 { "hinge" } else { "weld" };
        let anchor = format!("[{}, 0.02]", LINK * i as f64);
        let _ = write!(text, "[[joint]]\nkind = \"{kind}\"\nbetween = [\"l{i}\", \"l{}\"]\nanchor = {anchor}\n", i - 1);
    }
    text
}

/// A chain of links of which every other one has a ball at its middle: it folds under its weight.
fn grounded(links: usize, step: f64, solver: &str) -> String {
    let mut text = format!(
        "dimension = 2\nstep = {step}\nsolver = \"{solver}\"\n[[body]]\nname = \"ground\"\nkind = \"static\"\nshape = {{ half_space = [0, 1] }}\n"
    );
    for i in 0..links {
        let radius = if i % 2 == 0 { 0.02 } else { 0.01 };
        let shape = format!("inertia = {}\nshape = {{ ball = {radius} }}", MASS * LINK * LINK / 12.0);
        body(&mut text, &format!("l{i}"), &format!("[{}, 0.02]", LINK * (i as f64 + 0.5)), 0.0, &shape);
    }
    for i in 1..links {
        hinge(&mut text, &format!("l{i}"), &format!("l{}", i - 1), &format!("[{}, 0.02]", LINK * i as f64), "");
    }
    text
}

/// The least time \[us\] of a step by the number of its solves, and how many steps had that many.
type BySolves = BTreeMap<usize, (f64, usize)>;

fn measure<G: carom::geometry::Geometry>(mut world: World<G>, line: &Line) -> Result<BySolves, StepError> {
    for _ in 0..line.warm_up {
        world.step()?;
    }
    let mut times = Vec::with_capacity(BLOCKS);
    let mut by_solves = BySolves::new();
    let (mut residual, mut joint, mut corrections, mut solves, mut iterations) = (0.0f64, 0.0f64, 0, 0, 0);
    for _ in 0..BLOCKS {
        let start = Instant::now();
        for _ in 0..line.steps {
            let begin = Instant::now();
            let report = world.step()?;
            let taken = begin.elapsed().as_secs_f64() * 1e6;
            let (least, count) = by_solves.entry(report.solves).or_insert((taken, 0));
            (*least, *count) = (least.min(taken), *count + 1);
            residual = residual.max(report.residual);
            joint = joint.max(report.joint_error);
            corrections += report.corrections;
            solves += report.solves;
            iterations += report.iterations;
        }
        times.push(start.elapsed().as_secs_f64() / line.steps as f64 * 1e6);
    }
    times.sort_by(f64::total_cmp);
    let ledger = world.ledger();
    let count = (BLOCKS * line.steps) as f64;
    let drift = if ledger.exchanged > 1e-9 { format!("{:.0e}", ledger.drift.abs() / ledger.exchanged) } else { "-".into() };
    println!(
        "{:<34} {:>10.2} {:>10.2} {:>8.3} {:>6.2} {:>6.2} {:>8.1} {:>9.0e} {:>9.0e} {:>7}",
        line.name,
        times[0],
        times[BLOCKS / 2],
        times[0] / world.model().bodies.len() as f64,
        solves as f64 / count,
        corrections as f64 / count,
        iterations as f64 / count,
        residual,
        joint,
        drift,
    );
    Ok(by_solves)
}

/// Sets the steps of one line against those of another, at the number of solves that both had most often.
fn compare(name: &str, base: &BySolves, found: &BySolves) {
    let common = |solves: &usize| base.get(solves).map_or(0, |(_, count)| *count).min(found[solves].1);
    match found.keys().copied().max_by_key(common).filter(|solves| common(solves) > 0) {
        Some(solves) => {
            let ((time, steps), (of, among)) = (found[&solves], base[&solves]);
            println!("  {name:<32} {:>10.3} = {time:.1} / {of:.1} us, least of {steps} and {among} steps of {solves} solves", time / of);
        }
        None => println!("  {name:<32} no two steps of as many solves"),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let mut lines = Vec::new();
    let steps = |n: usize| (40_000 / n).clamp(40, 400);
    // Later on large trees snap through, and no two of their steps are alike.
    let calm = |n: usize| (40_000 / n).clamp(4, 400);
    for n in LINKS {
        lines.push(line(format!("chain {n}"), move || chain(n, 1e-3), 10, steps(n)));
    }
    for n in LINKS {
        lines.push(line(format!("tree {n}"), move || tree(n, 1e-3), 10, calm(n)));
    }
    for n in LINKS {
        lines.push(line(format!("ladder {n}"), move || ladder(n / LADDER_LINKS, 1e-3), 10, steps(n)));
    }
    for n in [10, 300, 1000] {
        lines.push(line(format!("space chain {n}"), move || spatial_chain(n, 1e-3, false), 10, steps(n)));
        lines.push(line(format!("space twisted chain {n}"), move || spatial_chain(n, 1e-3, true), 10, steps(n)));
    }
    lines.push(line("four-bar", move || legs(1, 1.0 / 240.0), 50, 300));
    lines.push(line("ten legs on a crank", move || legs(10, 1.0 / 240.0), 50, 300));
    lines.push(line("hub 400", move || hub(400, 1e-3), 10, steps(400)));
    for n in [10, 20, 50, 100, 200] {
        lines.push(line(format!("dense grounded {n}"), move || grounded(n, 1.0 / 240.0, "interior-point"), 5, 5));
    }
    for n in [10, 20, 50, 100, 200, 1000] {
        lines.push(line(format!("grounded {n}"), move || grounded(n, 1.0 / 240.0, "articulated"), 5, 5));
    }
    for n in [10, 20, 50, 100, 200] {
        lines.push(line(format!("resting by interior-point {n}"), move || resting(n, 1.0 / 240.0, "interior-point"), 5, 5));
        lines.push(line(format!("resting by auto {n}"), move || resting(n, 1.0 / 240.0, "auto"), 5, 5));
    }
    for n in [10, 20, 50, 100, 200, 500, 1000, 2000] {
        lines.push(line(format!("resting by articulated {n}"), move || resting(n, 1.0 / 240.0, "articulated"), 5, 10));
    }
    println!(
        "{:<34} {:>10} {:>10} {:>8} {:>6} {:>6} {:>8} {:>9} {:>9} {:>7}",
        "scene", "us min", "us mid", "us/body", "solves", "corr", "iter", "residual", "joint", "drift"
    );
    let mut measured = BTreeMap::new();
    for line in lines.iter().filter(|l| wanted.is_empty() || wanted.iter().any(|w| l.name.contains(w.as_str()))) {
        let found = match from_toml(&(line.text)(), &line.name)? {
            Scene::Planar(scene) => measure(World::new(scene.model, scene.state)?, line)?,
            Scene::Spatial(scene) => measure(World::new(scene.model, scene.state)?, line)?,
        };
        let half = LINKS.iter().find_map(|n| {
            let kind = line.name.strip_suffix(&(2 * n).to_string())?;
            measured.get(&format!("{kind}{n}")).filter(|_| ["chain ", "tree ", "ladder "].contains(&kind))
        });
        if let Some(half) = half {
            compare(&format!("{} over half as many", line.name), half, &found);
        }
        if let Some(chain) = measured.get("chain 400").filter(|_| line.name == "hub 400") {
            compare("hub 400 over chain 400", chain, &found);
        }
        measured.insert(line.name.clone(), found);
    }
    Ok(())
}
