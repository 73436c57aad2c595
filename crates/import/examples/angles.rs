//! The motion of a model from its start without contacts and limits, as joint coordinates: what `tests/imports/angles.py` lays beside MuJoCo.
//!
//! Run: `cargo run -p carom-import --example angles -- MODEL.xml STEP SECONDS TORQUE`. Every control is that torque or force on its joint. Prints the names of the
//! coordinates and of the controls, then the time and the coordinates every hundredth of the run.

use carom_dynamics::World;
use carom_import::{Actuators, Options, load};
use carom_scene::Scene;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, step, seconds, torque] = &arguments[..] else { return Err("needs MODEL STEP SECONDS TORQUE".into()) };
    let (step, seconds, torque): (f64, f64, f64) = (step.parse()?, seconds.parse()?, torque.parse()?);
    let options = Options { contacts: false, limits: false, actuators: Actuators::Force, ..Options::default() };
    let Scene::Spatial(mut scene) = load(path, &options)?.scene else { return Err("models are spatial".into()) };
    scene.model.step = step;
    let controls = vec![torque; scene.model.control_count()];
    let mut world = World::new(scene.model, scene.state)?;
    println!("{}", world.joint_names().join(" "));
    let driven = world.model().joints.iter().filter(|joint| joint.is_controlled()).map(|joint| joint.name.as_str());
    println!("{}", driven.collect::<Vec<_>>().join(" "));
    let steps = (seconds / step).round() as usize;
    let every = (steps / 100).max(1);
    for count in 1..=steps {
        world.step_with(&controls)?;
        if count % every == 0 {
            let numbers: Vec<String> = world.joint_q().iter().map(|x| format!("{x:.12e}")).collect();
            println!("{:.9} {}", world.state().time, numbers.join(" "));
        }
    }
    Ok(())
}
