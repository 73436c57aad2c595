//! What the verification suite shares: scenes built once over the space, figures, orders of error, a generator of random numbers.
//!
//! Scenes live in the vertical plane spanned by x and up. In space that plane is y = 0 and up is z, so that one text places bodies in
//! both and a planar scene has its spatial twin.

pub mod crowd;
pub mod crowds;
pub mod differences;
pub mod energy;
pub mod figures;
pub mod random;
pub mod random_scene;
pub mod scene;
pub mod stage;
pub mod top;

pub use energy::energy_rise;
pub use figures::{figure, full, holds, order};
pub use random::Random;
pub use random_scene::{hostile_scene, random_scene};
pub use scene::Scene;
pub use stage::Stage;

/// Standard gravity used in every scene [m/s^2].
pub const GRAVITY: f64 = 9.81;

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
