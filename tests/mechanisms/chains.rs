//! Chains released from the horizontal: what `verlet` keeps of their energy.

use crate::lab::planar;
use carom_math::Vector;
use carom_tests::{full, holds};

/// How long a chain swings [s].
const SECONDS: f64 = 10.0;

/// Worst error of the energy as a fraction of M g L/2, what the chain can fall through, and the worst joint gap [m].
fn error(name: &str, step: f64, seconds: f64) -> (f64, f64) {
    let mut world = planar(name, step);
    let energy = |world: &carom_dynamics::World<carom_math::Planar>| {
        let (kinetic, potential, elastic) = world.energies();
        kinetic + potential + elastic
    };
    let (bodies, poses) = (&world.model().bodies, &world.state().poses);
    // The links lie end to end from the hook on: half the length is the mean distance of their centres from it.
    let half = poses.iter().map(|pose| pose.position.x).sum::<f64>() / poses.len() as f64;
    let falls = bodies.iter().map(|body| body.mass).sum::<f64>() * world.model().gravity.norm() * half;
    let (start, mut worst, mut gap) = (energy(&world), 0.0f64, 0.0f64);
    for _ in 0..(seconds / step).round() as usize {
        world.step().unwrap_or_else(|error| panic!("{name}: {error}"));
        worst = worst.max((energy(&world) - start).abs());
        gap = gap.max(world.joint_error());
    }
    (worst / falls, gap)
}

fn keeps_its_energy(name: &str, step: f64, seconds: f64, bound: f64) {
    let (energy, gap) = error(name, step, seconds);
    let mut good = holds(&format!("{name}, {seconds} s at {step:.1e} s: energy error / (M g L/2)"), energy, bound);
    good &= holds(&format!("{name}, {seconds} s at {step:.1e} s: joint gap [m]"), gap, 1e-10);
    assert!(good);
}

#[test]
fn ten_links() {
    keeps_its_energy("chain_10", 1e-3, SECONDS, 0.01);
    keeps_its_energy("chain_10", 1.0 / 240.0, SECONDS, 0.05);
}

#[test]
fn a_hundred_links() {
    let seconds = if full() { SECONDS } else { 2.0 };
    keeps_its_energy("chain_100", 1e-3, seconds, 0.05);
    keeps_its_energy("chain_100", 1.0 / 240.0, seconds, 0.05);
}
