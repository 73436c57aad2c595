//! The clock without gears: an angle at the circle is half the angle at the centre.

use crate::lab::{FRAME, planar};
use carom_tests::{full, holds};

/// Every hand turns half as fast as the one before it, through the moments at which a pin passes the next axle.
#[test]
fn each_hand_turns_half_as_fast() {
    let mut world = planar("clock", FRAME);
    let hands = ["first", "second", "third", "fourth"].map(|name| world.model().body(name).expect("a hand"));
    let angle = |world: &carom_dynamics::World<carom_math::Planar>, hand: usize| world.state().poses[hand].rotation.angle;
    let start = hands.map(|hand| angle(&world, hand));
    let mut worst = 0.0f64;
    for _ in 0..if full() { 1800 } else { 300 } {
        world.step().unwrap_or_else(|error| panic!("{error}"));
        let turned: Vec<f64> = hands.iter().zip(start).map(|(hand, start)| angle(&world, *hand) - start).collect();
        for pair in turned.windows(2) {
            worst = worst.max((pair[1] - 0.5 * pair[0]).abs());
        }
    }
    let first = (angle(&world, hands[0]) - start[0]).abs() / std::f64::consts::TAU;
    assert!(first > 3.0, "the pins pass the axles: {first} turns");
    assert!(holds(&format!("clock, {first:.1} turns: error of a halved angle [rad]"), worst, 1e-9));
}
