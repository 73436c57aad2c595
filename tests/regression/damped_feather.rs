//! Bodies of a few grams on a spring of 50 N/m and 0.5 N s/m at a step of 0.01 s: stiffness alone did not make it a soft row, and the explicit damper threw
//! them back faster than they came, three times the energy in every step.

use carom_math::Spatial;
use carom_tests::{energy_rise, holds, hostile_scene};

#[test]
fn a_damper_takes_energy() {
    let mut world = hostile_scene::<Spatial>(3455, &[]).0.world();
    let (rise, _) = energy_rise(&mut world, 60);
    assert!(holds("feather on a damper: rise of energy over exchanged", rise, 0.03));
}
