//! A coefficient of friction from a measurement: Newton's method on the exact derivative of a run.
//!
//! Run: `cargo run --release -p carom --example identify`
//!
//! For many parameters, noise and measured motions use `carom fit`.

use carom::prelude::*;

const SCENE: &str = r#"
dimension = 2
[[body]]
kind = "static"
shape = { half_space = [0, 1] }
friction = 0.5
[[body]]
name = "puck"
shape = { box = [0.1, 0.05] }
mass = 0.2
position = [0, 0.025]
velocity = [2, 0]
friction = 0.5
"#;

/// What was measured: where the puck came to rest \[m\]. Its friction was 0.23.
const MEASURED: f64 = 2.0 * 2.0 / (2.0 * 0.23 * 9.81);
const STEPS: usize = 400;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut scene = SceneOf::<Planar>::try_from(carom::from_toml(SCENE, "puck.toml")?)?;
    let names = Names::new(&scene.model, &scene.joints, &scene.state)?;
    let mut friction: f64 = 0.5;
    for round in 1..=20 {
        scene.model.bodies.iter_mut().for_each(|body| body.surface.friction = friction);
        let world = World::new(scene.model.clone(), scene.state.clone())?;
        let rollout = world.rollout(STEPS, &[], Tape::Full)?;
        let distance = rollout.end().state().poses[1].position.x;
        let miss = distance - MEASURED;
        println!("round {round}: friction {friction:.9}, stops {miss:+.2e} m from the measurement");
        if miss.abs() < 1e-9 {
            break;
        }
        let slope = Cotangents { poses: vec![0.0, 0.0, 0.0, 1.0, 0.0, 0.0], twists: vec![0.0; 6] };
        let gradient = rollout.backward(&slope)?;
        // Both bodies have the coefficient, so its derivative is the sum of theirs.
        let by_friction: f64 = names.get(world.model(), rollout.layout(), "friction")?.gradient(&gradient.parameters).iter().sum();
        // Half of it at least is kept, so that a bold step cannot leave the coefficients that make sense.
        friction = (friction - miss / by_friction).max(0.5 * friction);
    }
    assert!((friction - 0.23).abs() < 1e-4, "found {friction}");
    println!("found {friction:.6}, it was 0.23; what is left is the last step of the slide");
    Ok(())
}
