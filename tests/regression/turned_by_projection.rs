//! With `time_of_impact = "off"` the projection turns bodies, and their inertias with them. Their spins stayed as they were: kinetic energy came from
//! nowhere, up to a tenth of all there was, and was booked as moved by the projection.

use carom_math::Spatial;
use carom_tests::{holds, hostile_scene};

#[test]
fn a_projection_gains_no_energy() {
    let mut good = true;
    for number in [4738, 2711, 1983, 749] {
        let mut world = hostile_scene::<Spatial>(number, &[]).0.world();
        let (mut gained, mut projected) = (0.0f64, 0);
        for _ in 0..60 {
            let before = world.ledger().flow.projection;
            projected += usize::from(world.step().expect("a scene").projected);
            let ledger = world.ledger();
            gained = gained.max((ledger.flow.projection - before) / ledger.exchanged);
        }
        assert!(projected > 0, "scene {number} is projected");
        good &= holds(&format!("scene {number}: energy gained by a projection over exchanged"), gained, 2e-5);
    }
    assert!(good);
}
