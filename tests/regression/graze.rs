//! Two bodies that dip into each other and out again within a move, on paths bent by rows: the search for the moment of impact strode
//! over the dip, returned the end of the move, and began anew until its cap; then the overlap was left to the projection. Single steps of
//! a heap took half a minute.

use carom_math::Spatial;
use carom_tests::crowd::pour;
use carom_tests::{figure, holds};

#[test]
fn a_dip_within_a_move_makes_progress() {
    let mut world = pour::<Spatial>().world();
    let (mut most, mut projected, mut depth) = (0, 0u32, 0.0f64);
    for _ in 0..170 {
        let report = world.step().unwrap_or_else(|error| panic!("{error}"));
        most = most.max(report.solves);
        projected += u32::from(report.projected);
        depth = depth.max(-world.deepest());
    }
    let mut good = holds("a heap that grazes: solves in one step", most as f64, 5e3);
    // Where neither a cut nor a row helps, what is left of a graze is projected out at once: it never shows.
    good &= holds("a heap that grazes: overlap [m]", depth, 6e-7);
    figure("a heap that grazes: steps with a projection", f64::from(projected));
    assert!(good);
}
