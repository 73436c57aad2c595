//! The exact gradient of a whole run, through a bounce, beside central differences.
//!
//! Run: `cargo run --release -p carom --example differentiate`

use carom::prelude::*;

/// Steps of the run: the ball has bounced once.
const STEPS: usize = 140;

/// The ball's height after the run, dropped from `y` with restitution `e`.
fn height(scene: &SceneOf<Planar>, y: f64, e: f64) -> Result<f64, Box<dyn std::error::Error>> {
    let (mut model, mut state) = (scene.model.clone(), scene.state.clone());
    model.bodies.iter_mut().for_each(|body| body.surface.restitution = e);
    state.poses[1].position.y = y;
    let mut world = World::new(model, state)?;
    for _ in 0..STEPS {
        world.step()?;
    }
    Ok(world.state().poses[1].position.y)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let text = carom::scene::scene("ball_drop").ok_or("no such scene")?.text;
    let scene = SceneOf::<Planar>::try_from(carom::from_toml(text, "ball_drop")?)?;
    let names = Names::new(&scene.model, &scene.joints, &scene.state)?;
    let world = World::new(scene.model.clone(), scene.state.clone())?;

    // Forwards with a tape, then back: a loss of 1 per metre of the ball's last height.
    let rollout = world.rollout(STEPS, &[], Tape::Full)?;
    let slope = Cotangents { poses: vec![0.0, 0.0, 0.0, 0.0, 1.0, 0.0], twists: vec![0.0; 6] };
    let gradient = rollout.backward(&slope)?;
    let restitution = names.get(world.model(), rollout.layout(), "restitution")?.gradient(&gradient.parameters);
    let exact = [gradient.poses[4], restitution.iter().sum()];

    let (y, e, d) = (scene.state.poses[1].position.y, scene.model.bodies[1].surface.restitution, 1e-6);
    let differences = [
        (height(&scene, y + d, e)? - height(&scene, y - d, e)?) / (2.0 * d),
        (height(&scene, y, e + d)? - height(&scene, y, e - d)?) / (2.0 * d),
    ];
    for ((name, exact), difference) in ["its first height", "the restitution"].iter().zip(exact).zip(differences) {
        println!("d(last height) / d({name}) = {exact:.9}, by differences {difference:.9}");
        assert!((exact - difference).abs() < 1e-6 * (1.0 + exact.abs()));
    }
    println!("every step's derivative is exact: {}", gradient.switches.iter().all(|step| step.is_exact()));
    Ok(())
}
