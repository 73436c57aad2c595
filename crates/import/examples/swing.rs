//! Prints what a URDF or MJCF model weighs, what was left out of it, and where a passive swing takes its bodies.
//!
//! `cargo run -p carom-import --example swing -- MODEL [SECONDS [STEP [JOINT=VALUE...]]]`: free roots are held, nothing touches, no actuator acts.
//! One JSON object: masses, centre of mass at the start, joints, notes, and the centres of mass of all bodies at the end.

use carom_dynamics::{BodyKind, World};
use carom_import::{Base, Options, load};
use carom_scene::Scene;
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Some(path) = words.first() else { return Err("needs a model".into()) };
    let number = |i: usize, default: f64| words.get(i).map_or(Ok(default), |w| w.parse::<f64>());
    let (time, step) = (number(1, 0.0)?, number(2, 1e-4)?);
    let pose = words.iter().skip(3).filter_map(|w| w.split_once('=')).filter_map(|(name, x)| Some((name.to_string(), x.parse().ok()?)));
    let base = if time > 0.0 { Base::Fixed } else { Base::Auto };
    let options = Options { base, contacts: false, controls: false, limits: false, pose: pose.collect(), ..Options::default() };
    let import = load(path, &options)?;
    let Scene::Spatial(scene) = import.scene else { return Err("models are spatial".into()) };
    let mut model = scene.model;
    model.step = step;
    if time > 0.0 {
        // Askew, so that nothing hangs still by its symmetry, and models without gravity swing too.
        model.gravity = nalgebra::Vector3::new(1.0, 2.0, -9.0);
    }
    let moving: Vec<usize> = (0..model.bodies.len()).filter(|&i| model.bodies[i].kind == BodyKind::Dynamic).collect();
    let names: Vec<String> = moving.iter().map(|&i| model.bodies[i].name.clone()).collect();
    let mass: Vec<f64> = moving.iter().map(|&i| model.bodies[i].mass).collect();
    let total: f64 = mass.iter().sum();
    let at = |world: &World<_>| moving.iter().map(|&i| world.state().poses[i].position).collect::<Vec<nalgebra::Vector3<f64>>>();
    let joints: Vec<[&str; 2]> = model.joints.iter().map(|j| [j.name.as_str(), j.kind.name()]).collect();
    let joints = json!(joints);
    let mut world = World::new(model, scene.state)?;
    let start = at(&world);
    let centre = start.iter().zip(&mass).map(|(x, m)| x * *m).sum::<nalgebra::Vector3<f64>>() / total;
    for _ in 0..(time / step).round() as usize {
        world.step()?;
    }
    let rows = |x: &[nalgebra::Vector3<f64>]| x.iter().map(|p| [p.x, p.y, p.z]).collect::<Vec<_>>();
    let turns: Vec<[f64; 4]> = moving.iter().map(|&i| world.state().poses[i].rotation.coords).map(|q| [q.w, q.x, q.y, q.z]).collect();
    let notes: Vec<String> = import.notes.iter().map(ToString::to_string).collect();
    let facts = json!({
        "mass": total, "centre": [centre.x, centre.y, centre.z], "bodies": names, "masses": mass, "joints": joints,
        "start": rows(&start), "end": rows(&at(&world)), "turns": turns, "notes": notes,
    });
    println!("{facts}");
    Ok(())
}
