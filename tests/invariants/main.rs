//! What must not change: bodies at rest, closed loops, momentum, the balance of energy, bits.

mod determinism;
mod joints;
mod ledger;
mod momentum;
mod piles;
mod random_scenes;
mod resting;
mod two_roads;

/// Runs a generic test in the plane and in space.
#[macro_export]
macro_rules! in_both_spaces {
    ($name:ident) => {
        mod $name {
            #[test]
            fn planar() {
                super::$name::<carom_math::Planar>();
            }
            #[test]
            fn spatial() {
                super::$name::<carom_math::Spatial>();
            }
        }
    };
}
