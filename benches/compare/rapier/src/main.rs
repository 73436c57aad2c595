//! Balls in flight above one ground, each apart from all others: `compare-rapier SIDE STEPS ROUNDS` steps SIDE^3 of them and prints the processor time of a step of this
//! thread \[us\], a line for each round. Sleeping is off; what is timed is one thread.

use rapier3d_f64::prelude::*;
use std::time::Instant;

/// Nanoseconds this thread has worked, or have passed where nobody counts them.
fn worked(since: Instant) -> f64 {
    let told = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let told = told.and_then(|text| text.split_whitespace().next().and_then(|first| first.parse::<f64>().ok()));
    told.unwrap_or(since.elapsed().as_secs_f64() * 1e9)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let numbers: Vec<usize> = std::env::args().skip(1).map(|text| text.parse()).collect::<Result<_, _>>()?;
    let &[side, steps, rounds] = &numbers[..] else { return Err("needs SIDE STEPS ROUNDS".into()) };
    let mut world = PhysicsWorld::default();
    world.gravity = Vector::new(0.0, 0.0, -9.81);
    world.integration_parameters.dt = 0.005;
    world.insert(RigidBodyBuilder::fixed().translation(Vector::new(0.0, 0.0, -1.0)), ColliderBuilder::cuboid(1e4, 1e4, 1.0));
    for place in 0..side.pow(3) {
        let at = [place % side, place / side % side, place / side / side].map(|k| k as f64);
        let body = RigidBodyBuilder::dynamic().translation(Vector::new(at[0], at[1], at[2] + 50.0)).can_sleep(false);
        world.insert(body, ColliderBuilder::ball(0.2).density(1000.0));
    }
    world.step();
    let since = Instant::now();
    for _ in 0..rounds {
        let begun = worked(since);
        for _ in 0..steps {
            world.step();
        }
        println!("{}", (worked(since) - begun) * 1e-3 / steps as f64);
    }
    Ok(())
}
