//! Mechanisms: every embedded one at large steps, closed loops, a walk, how large a step may be; two roads to one motion (bodies split or
//! whole, rows inserted or reduced), redundant joints, states that start wrong, time that grows with the parts.

mod big_steps;
mod clock;
mod closed;
mod insertion;
mod lab;
mod linear_time;
mod loops;
mod redundant;
mod set_apart;
mod splitting;
mod sprung;
mod starts_wrong;
mod walk;
mod wheels;

use carom_dynamics::World;
use carom_math::Vector;
use carom_tests::Stage;

/// Largest distance between the positions, and between the velocities, of two worlds.
fn apart<G: Stage>(one: &World<G>, two: &World<G>) -> (f64, f64) {
    let (a, b) = (one.state(), two.state());
    let mut worst = (0.0f64, 0.0f64);
    for body in 0..a.poses.len() {
        worst.0 = worst.0.max((a.poses[body].position - b.poses[body].position).norm());
        worst.1 = worst.1.max((a.twists[body].lin - b.twists[body].lin).norm());
    }
    worst
}

/// How far the bodies of a world have come from a start.
fn travelled<G: Stage>(world: &World<G>, start: &carom_dynamics::State<G>) -> f64 {
    (0..start.poses.len()).fold(0.0, |m, b| m.max((world.state().poses[b].position - start.poses[b].position).norm()))
}
