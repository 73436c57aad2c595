//! Scenes with many contacts, as texts: piles in a bin, walls, pyramids, arches, wedges, ropes, a grasp.

use crate::Random;
use std::fmt::Write;

/// What a pile is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Solids {
    /// Balls of radius 0.1 m.
    Balls,
    /// Cubes of 0.16 m.
    Boxes,
    /// Balls, boxes, capsules, cylinders and cones of that size.
    Mixed,
}

const MATERIAL: &str = "[materials.m]\nrestitution = 0.05\nfriction = 0.5\n";
const GROUND: &str = "[[body]]\nname = \"ground\"\nkind = \"static\"\nshape = { half_space = [0, 0, 1] }\nmaterial = \"m\"\n";

fn head(step: f64) -> String {
    format!("dimension = 3\nstep = {step}\n{MATERIAL}")
}

/// Solids of 1 kg dropped from a jittered grid of 0.25 m into a square bin of half the width given.
pub fn pile(solids: Solids, count: usize, half: f64, step: f64, start: u64) -> String {
    let mut random = Random::new(start);
    let side = (1..).find(|side| side * side * side >= count).unwrap_or(1);
    let mut text = head(step);
    for (index, (normal, at)) in [
        ([0, 0, 1], [0.0, 0.0, 0.0]),
        ([1, 0, 0], [-half, 0.0, 0.0]),
        ([-1, 0, 0], [half, 0.0, 0.0]),
        ([0, 1, 0], [0.0, -half, 0.0]),
        ([0, -1, 0], [0.0, half, 0.0]),
    ]
    .iter()
    .enumerate()
    {
        let _ = writeln!(
            text,
            "[[body]]\nname = \"wall{index}\"\nkind = \"static\"\nshape = {{ half_space = {normal:?} }}\nposition = {at:?}\nmaterial = \"m\""
        );
    }
    for index in 0..count {
        let mut place = |cell: usize, offset: f64| (cell as f64 - offset) * 0.25 + random.range(-0.02, 0.02);
        let middle = (side - 1) as f64 / 2.0;
        let position = [place(index % side, middle), place(index / side % side, middle), 0.2 + place(index / side / side, 0.0)];
        let turn: Vec<f64> = (0..4).map(|_| random.range(-1.0, 1.0)).collect();
        let length = turn.iter().map(|x| x * x).sum::<f64>().sqrt();
        let rotation: Vec<f64> = turn.iter().map(|x| x / length).collect();
        let shape = match (solids, index % 6) {
            (Solids::Balls, _) | (Solids::Mixed, 0) => "ball = 0.1",
            (Solids::Boxes, _) | (Solids::Mixed, 1) => "box = [0.16, 0.16, 0.16]",
            (Solids::Mixed, 2) => "capsule = [0.1, 0.06]",
            (Solids::Mixed, 3) => "cylinder = [0.16, 0.08]",
            (Solids::Mixed, 4) => "box = [0.2, 0.14, 0.1]",
            (Solids::Mixed, _) => "cone = [0.18, 0.09]",
        };
        let _ = writeln!(
            text,
            "[[body]]\nname = \"b{index}\"\nshape = {{ {shape} }}\nmass = 1\nposition = {position:?}\nrotation = {rotation:?}\nmaterial = \"m\""
        );
    }
    text
}

/// Discs of radius 0.1 m with e = 0.5 dropped from a jittered grid of so many columns into a bin of the plane.
pub fn planar_pile(count: usize, columns: usize, step: f64) -> String {
    let mut random = Random::new(count as u64);
    let half = 0.15 * columns as f64 + 0.05;
    let mut text = format!("dimension = 2\nstep = {step}\n[materials.m]\nrestitution = 0.5\nfriction = 0.5\n");
    let _ = writeln!(
        text,
        "[[body]]\nname = \"bin\"\nkind = \"static\"\nmaterial = \"m\"\n\
         shape = [{{ half_space = [0, 1] }}, {{ half_space = [1, 0], at = [{}, 0] }}, {{ half_space = [-1, 0], at = [{half}, 0] }}]",
        -half
    );
    for index in 0..count {
        let (column, row) = (index % columns, index / columns);
        let x = 0.3 * (column as f64 - 0.5 * (columns - 1) as f64) + random.range(-0.03, 0.03);
        let position = [x, 0.2 + 0.3 * row as f64];
        let _ =
            writeln!(text, "[[body]]\nname = \"d{index}\"\nshape = {{ ball = 0.1 }}\nmass = 1\nposition = {position:?}\nmaterial = \"m\"");
    }
    text
}

/// Bricks of 0.4 x 0.2 x 0.2 m in running bond, with a ball thrown at them.
pub fn wall(columns: usize, rows: usize, gap: f64, step: f64, struck: bool) -> String {
    let mut text = head(step) + GROUND;
    for row in 0..rows {
        for column in 0..columns {
            let x = (0.4 + gap) * column as f64 + if row % 2 == 1 { 0.2 } else { 0.0 };
            let z = 0.1 + 0.2 * row as f64;
            let _ = writeln!(
                text,
                "[[body]]\nname = \"k{row}_{column}\"\nshape = {{ box = [0.4, 0.2, 0.2] }}\nmass = 16\nposition = [{x}, 0, {z}]\nmaterial = \"m\""
            );
        }
    }
    if struck {
        let (x, z) = (0.2 * columns as f64, 0.1 * rows as f64);
        let _ = writeln!(
            text,
            "[[body]]\nname = \"ball\"\nshape = {{ ball = 0.2 }}\nmass = 20\nposition = [{x}, -1, {z}]\nvelocity = [0, 8, 0.5]\nmaterial = \"m\""
        );
    }
    text
}

/// Cubes of 0.2 m, `base` in the lowest row, each row one fewer.
pub fn pyramid(base: usize, step: f64) -> String {
    let mut text = head(step) + GROUND;
    for row in 0..base {
        for column in 0..base - row {
            let x = 0.21 * (column as f64 - 0.5 * (base - row - 1) as f64);
            let z = 0.1 + 0.2 * row as f64;
            let _ = writeln!(
                text,
                "[[body]]\nname = \"k{row}_{column}\"\nshape = {{ box = [0.2, 0.2, 0.2] }}\nmass = 8\nposition = [{x}, 0, {z}]\nmaterial = \"m\""
            );
        }
    }
    text
}

/// Cubes of 0.2 m one on another.
pub fn stack(count: usize, step: f64) -> String {
    let mut text = head(step) + GROUND;
    for row in 0..count {
        let z = 0.1 + 0.2 * row as f64;
        let _ = writeln!(
            text,
            "[[body]]\nname = \"k{row}\"\nshape = {{ box = [0.2, 0.2, 0.2] }}\nmass = 8\nposition = [0, 0, {z}]\nmaterial = \"m\""
        );
    }
    text
}

/// A half circle of wedges that stands by friction and shape.
pub fn arch(wedges: usize, step: f64) -> String {
    let mut text = head(step).replace("friction = 0.5", "friction = 0.8") + GROUND;
    let turn = std::f64::consts::PI / wedges as f64;
    for wedge in 0..wedges {
        // The cross-section, its centroid, and the eight corners about it.
        let angles = [turn * wedge as f64, turn * (wedge + 1) as f64];
        let section = [(0.8, angles[0]), (1.2, angles[0]), (1.2, angles[1]), (0.8, angles[1])].map(|(r, a)| [-r * a.cos(), r * a.sin()]);
        let (mut area, mut x, mut z) = (0.0, 0.0, 0.0);
        for k in 0..4 {
            let (p, q) = (section[k], section[(k + 1) % 4]);
            let cross = p[0] * q[1] - q[0] * p[1];
            area += cross / 2.0;
            x += (p[0] + q[0]) * cross / 6.0;
            z += (p[1] + q[1]) * cross / 6.0;
        }
        let centre = [x / area, 0.0, z / area];
        let local: Vec<[f64; 3]> =
            section.iter().flat_map(|p| [-0.15, 0.15].map(|depth| [p[0] - centre[0], depth, p[1] - centre[2]])).collect();
        let _ = writeln!(
            text,
            "[[body]]\nname = \"wedge{wedge}\"\nshape = {{ convex = {local:?} }}\ndensity = 1000\nposition = {centre:?}\nmaterial = \"m\""
        );
    }
    text
}

/// Balls between two walls that lean towards each other, with heavy ones on top.
pub fn wedged(count: usize, step: f64) -> String {
    let (sin, cos) = 0.35f64.sin_cos();
    let mut text = head(step);
    for (index, (normal, at)) in [
        ([cos, 0.0, sin], [0.0; 3]),
        ([-cos, 0.0, sin], [0.0; 3]),
        ([0.0, 1.0, 0.0], [0.0, -0.5, 0.0]),
        ([0.0, -1.0, 0.0], [0.0, 0.5, 0.0]),
    ]
    .iter()
    .enumerate()
    {
        let _ = writeln!(
            text,
            "[[body]]\nname = \"wall{index}\"\nkind = \"static\"\nshape = {{ half_space = {normal:?} }}\nposition = {at:?}\nmaterial = \"m\""
        );
    }
    let mut random = Random::new(5);
    for index in 0..count {
        let mass = if index + 5 >= count { 100 } else { 1 };
        let position = [random.range(-0.02, 0.02), -0.35 + 0.17 * (index % 5) as f64, 0.3 + 0.18 * (index / 5) as f64];
        let _ = writeln!(
            text,
            "[[body]]\nname = \"b{index}\"\nshape = {{ ball = 0.08 }}\nmass = {mass}\nposition = {position:?}\nmaterial = \"m\""
        );
    }
    text
}

/// Ropes of capsules that hang side by side, touch, and swing against each other.
pub fn ropes(count: usize, links: usize, step: f64) -> String {
    let mut text = head(step);
    let mut joints = String::new();
    for rope in 0..count {
        let x = 0.081 * rope as f64;
        for link in 0..links {
            let z = -0.1 - 0.2 * link as f64;
            let push = if rope == 0 { 1.5 } else { 0.0 };
            let _ = writeln!(
                text,
                "[[body]]\nname = \"r{rope}_{link}\"\nshape = {{ capsule = [0.12, 0.04] }}\nmass = 0.5\nposition = [{x}, 0, {z}]\nvelocity = [{push}, 0, 0]\nmaterial = \"m\""
            );
            let above = if link == 0 { "world".to_string() } else { format!("r{rope}_{}", link - 1) };
            let _ =
                writeln!(joints, "[[joint]]\nkind = \"ball\"\nbetween = [\"r{rope}_{link}\", \"{above}\"]\nanchor = [{x}, 0, {}]", z + 0.1);
        }
    }
    text + &joints
}

/// Two fingers on sliders press a box between them and hold it.
pub fn grasp(step: f64) -> String {
    let mut text = head(step) + GROUND;
    text += "[[body]]\nname = \"box\"\nshape = { box = [0.1, 0.1, 0.1] }\nmass = 0.5\nposition = [0, 0, 0.3]\nmaterial = \"m\"\n";
    for (name, x, push) in [("left", -0.071, 1.0), ("right", 0.071, -1.0)] {
        let _ = writeln!(
            text,
            "[[body]]\nname = \"{name}\"\nshape = {{ box = [0.04, 0.08, 0.08] }}\nmass = 0.3\nposition = [{x}, 0, 0.3]\nmaterial = \"m\"\n\
             [[joint]]\nkind = \"slider\"\nbetween = [\"{name}\", \"world\"]\nanchor = [{x}, 0, 0.3]\naxis = [1, 0, 0]\nmotor = {{ velocity = {push}, max = 20 }}"
        );
    }
    text
}
