//! Piles that stand still.

use carom_math::Planar;
use carom_tests::in_both_spaces;
use carom_tests::scene::{pose, stirred};
use carom_tests::{Scene, Stage, full, holds};

/// Runs a pile and bounds how far it has moved and how fast it still is.
fn stands_still<G: Stage>(name: &str, scene: Scene<G>, seconds: f64) {
    let start = scene.state.clone();
    let mut world = scene.world();
    let steps = (seconds / world.model().step).round() as usize;
    let (mut residual, mut inaccurate) = (0.0f64, 0);
    for _ in 0..steps {
        let report = world.step().expect("a pile at rest");
        residual = residual.max(report.residual);
        inaccurate += usize::from(report.inaccurate);
    }
    let (drift, speed) = stirred(&start, world.state());
    assert!(world.report().contacts > 0, "the bodies touch");
    let mut good = holds(&format!("{} {name}, {seconds} s: drift [m]", G::NAME), drift, 1e-6);
    good &= holds(&format!("{} {name}, {seconds} s: speed [m/s]", G::NAME), speed, 1e-9);
    good &= holds(&format!("{} {name}, {seconds} s: residual", G::NAME), residual, 1e-8);
    good &= holds(&format!("{} {name}, {seconds} s: inaccurate steps", G::NAME), inaccurate as f64, 0.0);
    assert!(good);
}

/// Ten boxes one on the other, 10 s at 1/240 s.
fn a_stack_of_ten<G: Stage>() {
    let mut scene = Scene::<G>::new(1.0 / 240.0);
    scene.ground(0.5, 0.0);
    for level in 0..10 {
        scene.body(G::cuboid(1.0, 1.0), 1.0, pose(0.0, 0.5 + level as f64, 0.0), 0.5, 0.0);
    }
    stands_still("stack of ten", scene, 10.0);
}
in_both_spaces!(a_stack_of_ten);

/// The same with masses that grow upwards, a thousand to one over the stack.
fn a_stack_with_the_heavy_on_top<G: Stage>() {
    let mut scene = Scene::<G>::new(1.0 / 240.0);
    scene.ground(0.5, 0.0);
    for level in 0..4 {
        scene.body(G::cuboid(1.0, 1.0), 10f64.powi(level), pose(0.0, 0.5 + f64::from(level), 0.0), 0.5, 0.0);
    }
    stands_still("stack with the heavy on top", scene, 2.0);
}
in_both_spaces!(a_stack_with_the_heavy_on_top);

/// Boxes that fall a little settle to rest: 3 s after a drop of 1 cm nothing moves.
fn a_dropped_stack_settles<G: Stage>() {
    let mut scene = Scene::<G>::new(1.0 / 240.0);
    scene.ground(0.5, 0.2);
    for level in 0..4 {
        scene.body(G::cuboid(1.0, 1.0), 1.0, pose(0.0, 0.51 + 1.01 * f64::from(level), 0.0), 0.5, 0.2);
    }
    let mut world = scene.world();
    for _ in 0..720 {
        world.step().expect("a falling stack");
    }
    let before = world.state().clone();
    for _ in 0..240 {
        world.step().expect("a settled stack");
    }
    let (drift, speed) = stirred(&before, world.state());
    let mut good = holds(&format!("{} dropped stack: drift in its fourth second [m]", G::NAME), drift, 1e-6);
    good &= holds(&format!("{} dropped stack: speed [m/s]", G::NAME), speed, 1e-9);
    good &= holds(&format!("{} dropped stack: overlap [m]", G::NAME), -world.deepest(), 1e-6);
    assert!(good);
}
in_both_spaces!(a_dropped_stack_settles);

/// A pyramid of ten rows, side by side without touching in a row.
#[test]
fn a_pyramid_of_ten_rows() {
    let mut scene = Scene::<Planar>::new(1.0 / 240.0);
    scene.ground(0.5, 0.0);
    for row in 0..10 {
        for place in 0..10 - row {
            let x = 1.1 * (place as f64 + 0.5 * row as f64);
            scene.body(Planar::cuboid(1.0, 1.0), 1.0, pose(x, 0.5 + row as f64, 0.0), 0.5, 0.0);
        }
    }
    stands_still("pyramid of ten rows", scene, if full() { 10.0 } else { 1.0 });
}
