//! Joints that stay closed.

use carom_dynamics::JointKind;
use carom_math::{Pose, Spatial, Vector};
use carom_tests::in_both_spaces;
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage, full, holds};

/// Adds a slender rod between two points and returns it.
fn rod<G: Stage>(scene: &mut Scene<G>, from: [f64; 2], to: [f64; 2], mass: f64) -> usize {
    let (dx, dy) = (to[0] - from[0], to[1] - from[1]);
    let length = dx.hypot(dy);
    let inertia = mass * length * length / 12.0;
    // Slender, but not infinitely: space wants inertia about the axis too.
    let moments = [inertia * if G::DIM == 2 { 1.0 } else { 0.01 }, inertia, inertia];
    let place = pose(0.5 * (from[0] + to[0]), 0.5 * (from[1] + to[1]), dy.atan2(dx));
    scene.particle(mass, G::inertia_from_moments(&moments), place)
}

/// Runs a mechanism and bounds its joint error at every step.
fn stays_closed<G: Stage>(name: &str, scene: Scene<G>, seconds: f64, drift: f64) {
    let mut world = scene.world();
    let start = world.state().clone();
    let steps = (seconds / world.model().step).round() as usize;
    let (mut gap, mut worst, mut unconverged) = (0.0f64, 0.0f64, 0);
    for _ in 0..steps {
        let report = world.step().unwrap_or_else(|error| panic!("{name}: {error}"));
        gap = gap.max(world.joint_error());
        unconverged += usize::from(report.unconverged);
        let ledger = world.ledger();
        worst = worst.max(ledger.drift.abs() / ledger.exchanged);
    }
    let moved = (0..start.poses.len()).fold(0.0f64, |m, b| m.max((world.state().poses[b].position - start.poses[b].position).norm()));
    assert!(moved > 0.1, "the mechanism moves");
    let mut good = holds(&format!("{} {name}, {seconds} s: joint gap [m]", G::NAME), gap, 1e-9);
    good &= holds(&format!("{} {name}, {seconds} s: energy drift over exchanged", G::NAME), worst, drift);
    good &= holds(&format!("{} {name}, {seconds} s: unconverged steps", G::NAME), unconverged as f64, 0.0);
    assert!(good);
}

/// A crank, a coupler and a rocker between two fixed pivots. In space three of the loop's rows are redundant.
fn a_four_bar_loop<G: Stage>() {
    let mut scene = Scene::<G>::new(0.001);
    let knee = [0.0, 1.0];
    // The other knee lies 3.5 from the first and 3 from the pivot at x = 4.
    let (across, rise) = (4.0, -1.0);
    let base = f64::hypot(across, rise);
    let along = (3.5 * 3.5 - 3.0 * 3.0 + base * base) / (2.0 * base);
    let side = (3.5f64 * 3.5 - along * along).sqrt();
    let elbow = [knee[0] + (along * across - side * rise) / base, knee[1] + (along * rise + side * across) / base];
    let crank = rod(&mut scene, [0.0, 0.0], knee, 1.0);
    let coupler = rod(&mut scene, knee, elbow, 3.5);
    let rocker = rod(&mut scene, elbow, [4.0, 0.0], 3.0);
    scene.hinge(crank, None, G::at(0.0, 0.0));
    scene.hinge(coupler, Some(crank), G::at(knee[0], knee[1]));
    scene.hinge(rocker, Some(coupler), G::at(elbow[0], elbow[1]));
    scene.hinge(rocker, None, G::at(4.0, 0.0));
    stays_closed("four-bar loop", scene, if full() { 10.0 } else { 2.0 }, 1e-3);
}
in_both_spaces!(a_four_bar_loop);

/// A hundred links released level.
fn a_chain_of_a_hundred<G: Stage>() {
    let mut scene = Scene::<G>::new(0.001);
    let length = 0.1;
    let mut last = None;
    for link in 0..100 {
        let x = length * f64::from(link);
        let body = rod(&mut scene, [x, 0.0], [x + length, 0.0], 0.1);
        scene.hinge(body, last, G::at(x, 0.0));
        last = Some(body);
    }
    stays_closed("chain of a hundred", scene, if full() { 10.0 } else { 2.0 }, 2e-2);
}
in_both_spaces!(a_chain_of_a_hundred);

/// One of each joint of space in a row, thrown through the air and swung: all stay closed.
#[test]
fn one_of_each() {
    let mut scene = Scene::<Spatial>::new(0.001);
    let inertia = nalgebra::Matrix3::from_diagonal(&nalgebra::Vector3::new(0.02, 0.03, 0.04));
    // A rope and a spring have no rows that hold always.
    let kinds = JointKind::ALL.into_iter().filter(|kind| !matches!(kind, JointKind::Rope | JointKind::Spring));
    let mut last = None;
    for (place, kind) in kinds.enumerate() {
        let x = place as f64;
        let body =
            scene.particle(1.0, inertia, Pose { position: Spatial::deep(x + 0.5, 0.1 * x, 0.0), rotation: Spatial::turned(0.1 * x) });
        let anchor = Spatial::deep(x, 0.1 * x, 0.0);
        scene.joint(kind, [Some(body), last], |spec| match kind {
            JointKind::Ball | JointKind::Weld => spec.anchor = Some(anchor),
            JointKind::Universal => {
                spec.anchor = Some(anchor);
                spec.axes = Some([Spatial::deep(0.0, 1.0, 0.0), Spatial::deep(0.0, 0.0, 1.0)]);
            }
            JointKind::Distance => spec.anchors = Some([anchor, anchor - Spatial::deep(0.2, 0.0, 0.1)]),
            _ => {
                spec.anchor = Some(anchor);
                spec.axis = Some(Spatial::deep(0.3, 1.0, 0.2));
                spec.measures.lead = kind.keys::<Spatial>().contains(&"lead").then_some(0.5);
            }
        });
        last = Some(body);
    }
    stays_closed("one joint of each kind", scene, 1.0, 1e-2);
}
