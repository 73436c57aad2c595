//! Joints that leave a contact one freedom, oblique to its normal, make problems of dry friction without a solution. Every method of the
//! solver was tried anew in every round of every trial: ten million iterations in a step.

use carom_math::Planar;
use carom_tests::{holds, hostile_scene};

#[test]
fn a_contact_without_a_solution_costs_little() {
    let mut world = hostile_scene::<Planar>(3221, &[3, 4, 5]).0.world();
    let (mut most, mut depth) = (0, 0.0f64);
    for step in 0..60 {
        let report = world.step().unwrap_or_else(|error| panic!("step {step}: {error}"));
        most = most.max(report.iterations);
        depth = depth.max(-world.deepest());
        if most > 1_000_000 {
            break;
        }
    }
    let mut good = holds("jammed contact: iterations in one step", most as f64, 1e5);
    good &= holds("jammed contact: overlap [m]", depth, 1e-6);
    assert!(good);
}
