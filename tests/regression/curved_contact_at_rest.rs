//! A ball riding on the face of a turning box without closing speed: its row needs no impulse at the start of the move, but the face
//! turns into the ball within it. Rows without impulse were not corrected, so that every step overlapped by 1e-4 of the size, was
//! projected, and changed the angular momentum.

use carom_math::Planar;
use carom_tests::scene::pose;
use carom_tests::{Scene, Stage, holds};

#[test]
fn a_row_without_impulse_is_held_over_the_move() {
    let mut scene = Scene::<Planar>::weightless(0.005);
    let face = scene.body(Planar::cuboid(0.5, 0.4), 1.0, pose(0.0, 0.0, 0.0), 0.3, 0.0);
    let ball = scene.body(Planar::ball(0.3), 1.0, pose(0.2, 0.5, 0.0), 0.3, 0.0);
    scene.moving(face, Planar::at(0.0, 0.0), Planar::rate(3.0));
    scene.moving(ball, Planar::at(0.0, 0.6), Planar::rate(0.0));
    let mut world = scene.world();
    let start = world.ledger().angular_momentum[0];
    let (mut depth, mut projected) = (0.0f64, false);
    for _ in 0..20 {
        projected |= world.step().expect("a ball on a box").projected;
        depth = depth.max(-world.deepest());
    }
    let turned = (world.ledger().angular_momentum[0] - start).abs();
    assert!(!projected);
    assert!(holds("ball on a turning face: overlap [m]", depth, 1e-10));
    assert!(holds("ball on a turning face: angular momentum, change", turned, 1e-13));
}
