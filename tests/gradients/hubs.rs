//! Bodies with many joints against differences: hubs of trees, hubs in loops, and hubs whose rows are not all equalities.

use crate::situations::agree_within;
use std::f64::consts::TAU;

/// Relative error allowed where rows hold by iteration.
const HELD: f64 = 1e-6;

/// Violation of <J u, w> = <u, J' w> allowed.
const TRANSPOSED: f64 = 1e-12;

/// A turning hub on a pivot beside its centre with spokes hinged to its rim, each hinge with these keys as well.
fn hub(dimension: usize, count: usize, keys: &str) -> String {
    let (rest, axis, inertia, spin) = if dimension == 2 {
        ("", "", ["3", "4e-3"], "2")
    } else {
        (", 0", "axis = [0.1, 0.2, 1]\n", ["[2, 2.5, 3]", "[2e-3, 3e-3, 4e-3]"], "[0.1, 0.2, 2]")
    };
    let mut text = format!("dimension = {dimension}\n[[body]]\nname = \"hub\"\nmass = 5\ninertia = {}\nspin = {spin}\n", inertia[0]);
    text += &format!("[[joint]]\nkind = \"hinge\"\n{axis}between = [\"hub\", \"world\"]\nanchor = [0.1, 0.3{rest}]\n");
    for i in 0..count {
        let (sin, cos) = (TAU * i as f64 / count as f64).sin_cos();
        let (x, y) = (1.2 * cos, 1.2 * sin);
        text += &format!("[[body]]\nname = \"b{i}\"\nmass = 0.2\ninertia = {}\nposition = [{x}, {y}{rest}]\n", inertia[1]);
        text += &format!("[[joint]]\nkind = \"hinge\"\n{axis}between = [\"b{i}\", \"hub\"]\nanchor = [{cos}, {sin}{rest}]\n{keys}");
    }
    text
}

/// A bar from the end of the first spoke to that of the second.
fn tie(dimension: usize, count: usize) -> String {
    let (rest, kind, inertia) = if dimension == 2 { ("", "hinge", "1e-3") } else { (", 0", "ball", "[1e-3, 1e-3, 1e-3]") };
    let [a, b] = [0, 1].map(|k| (TAU * f64::from(k) / count as f64).sin_cos()).map(|(sin, cos)| (1.4 * cos, 1.4 * sin));
    let (x, y) = (0.5 * (a.0 + b.0), 0.5 * (a.1 + b.1));
    let mut text = format!("[[body]]\nname = \"bar\"\nmass = 0.1\ninertia = {inertia}\nposition = [{x}, {y}{rest}]\n");
    for (k, (x, y)) in [a, b].into_iter().enumerate() {
        text += &format!("[[joint]]\nkind = \"{kind}\"\nbetween = [\"bar\", \"b{k}\"]\nanchor = [{x}, {y}{rest}]\n");
    }
    text
}

#[test]
fn hubs_of_trees() {
    agree_within(&hub(2, 30, ""), 5, 5, (HELD, TRANSPOSED), &[]);
    agree_within(&hub(3, 20, ""), 5, 5, (HELD, TRANSPOSED), &[]);
}

#[test]
fn hubs_in_loops() {
    agree_within(&(hub(2, 30, "") + &tie(2, 30)), 5, 5, (HELD, TRANSPOSED), &[]);
    agree_within(&(hub(3, 20, "") + &tie(3, 20)), 5, 5, (HELD, TRANSPOSED), &[]);
}

/// Friction in the hinges takes the road of the single maps.
#[test]
fn hubs_with_friction_in_their_joints() {
    agree_within(&hub(2, 30, "friction = 0.02\n"), 5, 5, (HELD, TRANSPOSED), &[]);
    agree_within(&hub(3, 20, "friction = 0.02\n"), 5, 5, (HELD, TRANSPOSED), &[]);
}
