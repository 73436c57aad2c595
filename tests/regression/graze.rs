//! Two bodies that dip into each other and out again within a move: the search for the moment of impact strode over the dip, returned the
//! end of the move, and began anew until its cap; then the overlap was left to the projection. One step of a heap took half a minute.

use carom_math::Planar;
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage, holds};

/// Rods that spin past each other so that their tips overlap only for a part of the step, at many phases.
#[test]
fn a_dip_within_a_move_is_an_event() {
    let (mut depth, mut most, mut impacts) = (0.0f64, 0, 0);
    for phase in 0..40 {
        let mut scene = Scene::<Planar>::new(0.01);
        scene.ground(0.4, 0.2);
        // A box at rest under the path of the tip, so that rows bend the paths.
        let base = scene.body(Planar::cuboid(0.6, 0.4), 1.0, pose(0.0, 0.2, 0.0), 0.4, 0.2);
        let rod = scene.body(Planar::capsule(0.8, 0.02), 0.3, pose(0.0, 0.84 + 1e-4 * f64::from(phase), 0.6), 0.4, 0.2);
        scene.moving(rod, Planar::at(0.0, 0.05), Planar::rate(-20.0 - 0.3 * f64::from(phase)));
        let mut world = scene.world();
        for _ in 0..40 {
            let report = world.step().unwrap_or_else(|error| panic!("phase {phase}: {error}"));
            depth = depth.max(-world.deepest());
            most = most.max(report.solves);
            impacts += report.impacts;
        }
        assert!(world.state().poses[base].is_finite());
    }
    assert!(impacts > 40, "the rod does strike the box: {impacts}");
    let mut good = holds("grazing rods: overlap [m]", depth, 1e-6);
    good &= holds("grazing rods: solves in one step", most as f64, 5e3);
    assert!(good);
}
