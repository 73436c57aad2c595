//! The Strandbeest walks.

use crate::lab::{FRAME, planar};
use carom_tests::{figure, full, holds};

/// Ten metres in a minute, upright, with all loops closed at every step. By default the first ten seconds of it.
#[test]
fn the_strandbeest_walks_ten_metres_in_a_minute() {
    let mut world = planar("strandbeest", FRAME);
    let frame = world.model().body("frame").expect("the frame");
    let seconds = if full() { 60.0 } else { 10.0 };
    let (mut gap, mut tilt, mut bob) = (0.0f64, 0.0f64, 0.0f64);
    let start = world.state().poses[frame].position;
    for _ in 0..(seconds / FRAME).round() as usize {
        let report = world.step().unwrap_or_else(|error| panic!("{error}"));
        assert!(!report.unconverged && report.stepped == 0, "at {} s", world.state().time);
        gap = gap.max(world.joint_error());
        let pose = world.state().poses[frame];
        tilt = tilt.max(pose.rotation.angle.abs());
        bob = bob.max((pose.position.y - start.y).abs());
    }
    let walked = world.state().poses[frame].position.x - start.x;
    figure(&format!("Strandbeest, {seconds} s: walked [m]"), walked);
    let mut good = holds("Strandbeest: joint gap [m]", gap, 1e-10);
    good &= holds("Strandbeest: tilt of the frame [rad]", tilt, 0.1);
    good &= holds("Strandbeest: rise and fall of the frame [m]", bob, 0.05);
    assert!(good && walked > seconds / 6.0, "walked {walked} m in {seconds} s");
}
