//! The mechanisms of these tests as texts, and what every test does with them.

use carom_dynamics::World;
use carom_geometry::Geometry;
use carom_scene::{Scene, from_toml};

/// Three crossed hinges in space, all driven, with these rotors; the lowest stands on the world.
pub fn arm(armatures: [f64; 3]) -> String {
    let bodies = [
        ("a", 1.0, "[0.05, 0.06, 0.03]", "[0.2, 0.1, 0.0]"),
        ("b", 0.8, "[0.02, 0.05, 0.04]", "[0.5, 0.1, 0.1]"),
        ("c", 0.5, "[0.03, 0.02, 0.01]", "[0.8, 0.2, 0.2]"),
    ];
    let joints = [
        ("first", "[\"a\", \"world\"]", "[0, 0, 0]", "[0, 0, 1]"),
        ("second", "[\"b\", \"a\"]", "[0.4, 0.1, 0]", "[0, 1, 0]"),
        ("third", "[\"c\", \"b\"]", "[0.7, 0.1, 0.1]", "[1, 0, 0]"),
    ];
    let mut out = "dimension = 3\n".to_string();
    for (name, mass, inertia, position) in bodies {
        out += &format!("[[body]]\nname = \"{name}\"\nmass = {mass}\ninertia = {inertia}\nposition = {position}\n");
    }
    for ((name, between, anchor, axis), armature) in joints.into_iter().zip(armatures) {
        out += &format!("[[joint]]\nname = \"{name}\"\nkind = \"hinge\"\nbetween = {between}\nanchor = {anchor}\naxis = {axis}\n");
        out += "motor = { control = true }\n";
        if armature > 0.0 {
            out += &format!("armature = {armature}\n");
        }
    }
    out
}

/// Discs on fixed axles in the plane without gravity, all driven, with these inertias, and more.
pub fn discs(step: f64, inertias: &[f64], more: &str) -> String {
    let mut out = format!("dimension = 2\ngravity = [0, 0]\nstep = {step}\n");
    for (i, inertia) in inertias.iter().enumerate() {
        out += &format!(
            "[[body]]\nname = \"disc{i}\"\nmass = 1\ninertia = {inertia}\nposition = [{i}, 0]\n[[joint]]\nname = \"axle{i}\"\nkind = \"hinge\"\n\
             between = [\"disc{i}\", \"world\"]\nanchor = [{i}, 0]\nmotor = {{ control = true }}\n"
        );
    }
    out + more
}

/// A coupling of joints, and what else it says.
pub fn coupling(name: &str, terms: &str, more: &str) -> String {
    format!("[[joint]]\nname = \"{name}\"\nkind = \"coupling\"\njoints = {{ {terms} }}\n{more}\n")
}

/// The spatial world of a text.
pub fn space(text: &str) -> World<carom_math::Spatial> {
    match from_toml(text, "robots") {
        Ok(Scene::Spatial(scene)) => World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}")),
        Ok(_) => panic!("a spatial scene"),
        Err(error) => panic!("{error}"),
    }
}

/// The planar world of a text.
pub fn plane(text: &str) -> World<carom_math::Planar> {
    match from_toml(text, "robots") {
        Ok(Scene::Planar(scene)) => World::new(scene.model, scene.state).unwrap_or_else(|e| panic!("{e}")),
        Ok(_) => panic!("a planar scene"),
        Err(error) => panic!("{error}"),
    }
}

/// What is wrong with a text.
pub fn refusal(text: &str) -> String {
    from_toml(text, "wrong").map(|_| ()).expect_err("a wrong scene").to_string()
}

/// So many steps with the same controls.
pub fn run<G: Geometry>(world: &mut World<G>, steps: usize, controls: &[f64]) {
    for _ in 0..steps {
        world.step_with(controls).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Errors at steps halved twice fall with an order, to less than a bound.
pub fn has_order(found: [f64; 3], order: f64, at_most: f64, what: &str) {
    let orders = [(found[0] / found[1]).log2(), (found[1] / found[2]).log2()];
    println!("{what}: {found:?}, orders {orders:.2?}");
    assert!(orders.iter().all(|o| (o - order).abs() < 0.2), "{what}: {found:?}, orders {orders:?}");
    assert!(found[2] < at_most, "{what}: {found:?}");
}
