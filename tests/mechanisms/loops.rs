//! Closed loops over ten seconds: a free four-bar keeps its energy, ten legs on one crank keep together.

use crate::lab::planar;
use carom_dynamics::World;
use carom_math::Planar;
use carom_tests::scene::pose;
use carom_tests::{Scene, full, holds};

/// Largest opening of a joint [m].
const GAP: f64 = 1e-10;
/// The step [s].
const STEP: f64 = 1.0 / 240.0;

/// The worst joint gap over a run [m], and the error of the energy at its end and at its worst [J].
fn watch(mut world: World<Planar>, seconds: f64) -> (f64, f64, f64) {
    let (mut gap, mut error, mut worst) = (0.0f64, 0.0f64, 0.0f64);
    let total = |world: &World<Planar>| {
        let (kinetic, potential, elastic) = world.energies();
        kinetic + potential + elastic
    };
    let start = total(&world);
    for _ in 0..(seconds / STEP).round() as usize {
        let report = world.step().unwrap_or_else(|error| panic!("{error}"));
        assert!(!report.unconverged);
        gap = gap.max(world.joint_error());
        error = (total(&world) - start - world.ledger().flow.work_in).abs();
        worst = worst.max(error);
    }
    (gap, error, worst)
}

/// Crank 0.5 m, coupler 2 m, rocker 1.5 m, frame 2 m, rods of 1 kg/m, let go with the crank upright.
#[test]
fn a_free_four_bar_keeps_its_energy() {
    let mut scene = Scene::<Planar>::new(STEP);
    let (tip, pivot) = ([0.0, 0.5], [2.0, 0.0]);
    let (dx, dy) = (pivot[0] - tip[0], pivot[1] - tip[1]);
    let base = f64::hypot(dx, dy);
    let along = (4.0 - 2.25 + base * base) / (2.0 * base);
    let side = (4.0 - along * along).sqrt();
    let knee = [tip[0] + (along * dx - side * dy) / base, tip[1] + (along * dy + side * dx) / base];
    let mut rod = |from: [f64; 2], to: [f64; 2]| {
        let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
        let length = dx.hypot(dy);
        let inertia = nalgebra::Matrix1::new(length.powi(3) / 12.0);
        scene.particle(length, inertia, pose(0.5 * (from[0] + to[0]), 0.5 * (from[1] + to[1]), dy.atan2(dx)))
    };
    let [crank, coupler, rocker] = [rod([0.0, 0.0], tip), rod(tip, knee), rod(knee, pivot)];
    scene.hinge(crank, None, [0.0, 0.0].into());
    scene.hinge(coupler, Some(crank), tip.into());
    scene.hinge(rocker, Some(coupler), knee.into());
    scene.hinge(rocker, None, pivot.into());
    let (gap, end, band) = watch(scene.world(), 10.0);
    let mut good = holds("free four-bar, 10 s at 1/240 s: joint gap [m]", gap, GAP);
    good &= holds("free four-bar, 10 s at 1/240 s: energy error at the end [J]", end, 1e-3);
    // In between it moves in the band of a second-order method: 17.8 J are exchanged.
    good &= holds("free four-bar, 10 s at 1/240 s: energy error at its worst [J]", band, 0.02);
    assert!(good);
}

/// Twenty-one bodies with one freedom, turned by a constant torque.
#[test]
fn ten_legs_keep_together() {
    let (gap, end, band) = watch(planar("ten_legs", STEP), if full() { 10.0 } else { 3.0 });
    let mut good = holds("ten legs at 1/240 s: joint gap [m]", gap, GAP);
    good &= holds("ten legs at 1/240 s: energy error at the end, less the work of the torque [J]", end, 0.1);
    good &= holds("ten legs at 1/240 s: energy error at its worst, less the work of the torque [J]", band, 1.0);
    assert!(good);
}
