//! Impact laws, through the whole step: what each of them promises on cradles, breaks, wedges, oblique bounces and struck mechanisms.
//!
//! `docs/impact-laws.md` names these tests beside every property it states.

mod agreement;
mod bounce;
mod collapse;
mod compressions;
mod confined;
mod cradle;
mod energy;
mod laws;
mod mechanism;
mod rack;
mod reference;
mod wedge;

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
