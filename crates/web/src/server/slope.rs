//! The gradient of a loss, for arrows and colours: by the velocities, masses and coefficients of the bodies at the start.

use carom_dynamics::gradient::{Names, Parameters, Tape, Weak, Wrt};
use carom_dynamics::{Interrupt, World};
use carom_geometry::Geometry;
use carom_loss::Loss;
use serde_json::{Value, json};

/// Steps of a rollout that is differentiated: a page waits for it.
const MOST_STEPS: f64 = 20_000.0;
/// Steps up to which every one is kept; beyond, checkpoints.
const FULL_TAPE: usize = 2000;
/// Parameters by which bodies are coloured.
const KEYS: [&str; 3] = ["mass", "friction", "restitution"];

/// Takes a loss, a time \[s\] and the token of who waits; returns the gradient, or what is wrong.
pub type Slope = Box<dyn FnOnce(&str, f64, &Interrupt) -> Result<Value, String> + Send>;

/// The gradient of a loss after so much time from the world's state.
pub fn slope<G: Geometry>(world: &World<G>, names: &Names<G>, text: &str, time: f64, over: &Interrupt) -> Result<Value, String> {
    let model = world.model();
    let loss = Loss::parse(text, model).map_err(|e| format!("loss, column {}: {}; {}", e.column, e.problem, e.help))?;
    let steps = (time / model.step).round();
    if !(1.0..=MOST_STEPS).contains(&steps) {
        return Err(format!("time: needs 1 to {MOST_STEPS} steps of {} s", model.step));
    }
    let steps = steps as usize;
    let tape = if steps <= FULL_TAPE { Tape::Full } else { Tape::Sparse };
    let rollout = world.rollout_unless(steps, &[], tape, over).map_err(|error| error.to_string())?;
    let layout = Parameters::of(model);
    let forces = loss.forces(&rollout, over).map_err(|error| error.to_string())?;
    let value = loss.value(model, &rollout.states, &forces);
    let slope = loss.slope(model, &layout, &rollout.states, &forces);
    if !(value.is_finite() && slope.is_finite()) {
        return Err("the loss has no finite slope at this run".to_string());
    }
    let how = (Wrt::Everything, Weak::AsSolved);
    let mut gradient = rollout.backward_forces(&slope.states, &slope.pushes, how, over).map_err(|error| error.to_string())?;
    gradient.parameters.iter_mut().zip(&slope.parameters).for_each(|(g, s)| *g += s);
    let switches = gradient.switches.iter().filter(|s| **s != Default::default()).count();
    let mut out = json!({
        "is": "gradient", "loss": text, "value": value, "time": steps as f64 * model.step, "switches": switches,
        "v0": gradient.twists, "q0": gradient.poses, "dof": G::DOF,
    });
    for key in KEYS {
        if let Ok(quantity) = names.get(model, &layout, key) {
            out[key] = json!(quantity.gradient(&gradient.parameters));
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use carom_scene::{Scene, from_toml};

    #[test]
    fn two_equal_balls_pass_the_velocity_on() {
        let text = "dimension = 2\ngravity = [0, 0]\n[[repeat]]\ncount = 2\noffset = [1, 0]\nbody = { name = \"b\", shape = { ball = 0.2 }, mass = 1, restitution = 1 }\n";
        let Scene::Planar(mut scene) = from_toml(text, "x").unwrap() else { panic!("a plane") };
        scene.state.twists[0].lin[0] = 2.0;
        let names = Names::new(&scene.model, &scene.joints, &scene.state).unwrap();
        let world = World::new(scene.model, scene.state).unwrap();
        let answer = slope(&world, &names, "b_1.vx", 1.0, &Interrupt::NEVER).unwrap();
        assert!((answer["value"].as_f64().unwrap() - 2.0).abs() < 1e-9);
        assert!((answer["v0"][0].as_f64().unwrap() - 1.0).abs() < 1e-9, "the first ball's velocity becomes the second's");
        assert!(answer["v0"][3].as_f64().unwrap().abs() < 1e-9);
        assert_eq!(answer["mass"].as_array().unwrap().len(), 2);
        for (loss, time) in [("b_1.speed", 1.0), ("b_1.vx", 0.0), ("b_1.vx", f64::NAN), ("b_1.vx", 1e9), ("log(0*b_1.x)", 1.0)] {
            assert!(slope(&world, &names, loss, time, &Interrupt::NEVER).is_err(), "{loss} {time}");
        }
    }
}
