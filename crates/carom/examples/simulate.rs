//! Runs a scene and asks it questions: where bodies are, who touches whom, where the energy went.
//!
//! Run: `cargo run --release -p carom --example simulate`

use carom::prelude::*;

const SCENE: &str = r#"
dimension = 3
step = 0.004

[[body]]
name = "floor"
kind = "static"
shape = { half_space = [0, 0, 1] }
friction = 0.4

[[body]]
name = "crate"
shape = { box = [0.4, 0.3, 0.2] }
mass = 5
position = [0, 0, 0.1]
velocity = [2, 0, 0]      # slides and stops after v^2 / (2 mu g)
friction = 0.4
"#;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut world = World::<Spatial>::from_scene(carom::from_toml(SCENE, "crate.toml")?)?;
    let crate_ = world.model().bodies.iter().position(|body| body.name == "crate").ok_or("no crate")?;
    println!("  time        x     speed   contacts");
    for step in 1..=200 {
        let report = world.step()?;
        if step % 25 == 0 {
            let (pose, twist) = (world.state().poses[crate_], world.state().twists[crate_]);
            println!("{:5.2} s  {:6.4} m  {:6.3} m/s  {}", f64::from(step) * 0.004, pose.position.x, twist.lin.norm(), report.contacts);
        }
    }
    let (measured, closed) = (world.state().poses[crate_].position.x, 2.0f64.powi(2) / (2.0 * 0.4 * 9.81));
    println!("stopped after {measured:.6} m; v^2 / (2 mu g) = {closed:.6} m");

    // Every joule has a place: what friction took is what the motion had.
    let ledger = world.ledger();
    println!("friction took {:.6} J of {:.6} J; the books are off by {:.1e} J", ledger.flow.friction_loss, 0.5 * 5.0 * 4.0, ledger.drift);
    assert!((measured - closed).abs() < 1e-4 && ledger.drift.abs() < 1e-9);
    Ok(())
}
