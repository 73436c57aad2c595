//! Bodies with many joints are cut into welded parts inside the joint matrix: nothing that can be seen changes.

use crate::{apart, travelled};
use carom_dynamics::World;
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage, holds};
use std::f64::consts::TAU;

/// A hub on a pivot beside its centre, with swinging spokes around its rim.
fn hub<G: Stage>(spokes: usize, whole: bool) -> World<G> {
    let mut scene = Scene::<G>::new(0.002);
    scene.model.options.whole_bodies = whole;
    let hub = scene.particle(5.0, G::inertia_from_moments(&[2.0, 2.5, 3.0]), pose(0.0, 0.0, 0.0));
    scene.hinge(hub, None, G::at(0.1, 0.3));
    for k in 0..spokes {
        let (sin, cos) = (TAU * k as f64 / spokes as f64).sin_cos();
        let spoke = scene.particle(0.2, G::inertia_from_moments(&[2e-3, 3e-3, 4e-3]), pose(1.2 * cos, 1.2 * sin, 0.0));
        scene.hinge(spoke, Some(hub), G::at(cos, sin));
    }
    scene.world()
}

fn split_and_whole_hubs_move_alike<G: Stage>() {
    // Enough rows for several parts: 2 a hinge in the plane, 5 in space.
    let (mut split, mut whole) = (hub::<G>(40, false), hub::<G>(40, true));
    let start = split.state().clone();
    let mut worst = 0.0f64;
    for _ in 0..500 {
        let (a, b) = (split.step().expect("a step"), whole.step().expect("a step"));
        assert_eq!((a.substeps, a.redundant), (b.substeps, b.redundant));
        let (place, _) = apart(&split, &whole);
        worst = worst.max(place);
    }
    assert!(travelled(&split, &start) > 0.3, "the hub swings");
    assert!(split.state() != whole.state(), "the two roads are two");
    let mut good = holds(&format!("{}: split and whole hub after 1 s [m]", G::NAME), worst, 1e-9);
    good &= holds(&format!("{}: joint gap of the split hub [m]", G::NAME), split.joint_error(), 1e-11);
    assert!(good);
}
in_both_spaces!(split_and_whole_hubs_move_alike);
