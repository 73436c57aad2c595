//! A slack rope in a scene whose move ends at once: its target, slack over time, was infinite and so was the reported residual.

use carom_math::Planar;
use carom_tests::{holds, random_scene};

#[test]
fn a_move_of_no_length_has_finite_targets() {
    for (number, dropped) in [(4275, &[0, 4, 5][..]), (6505, &[3, 4, 5]), (8031, &[4, 5])] {
        let mut world = random_scene::<Planar>(number, dropped).0.world();
        let mut residual = 0.0f64;
        for _ in 0..90 {
            let report = world.step().expect("bodies on a rope");
            residual = residual.max(report.residual);
            assert!(!report.inaccurate);
        }
        assert!(holds(&format!("scene {number} with a rope: residual"), residual, 1e-8));
    }
}
