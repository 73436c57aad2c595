//! Closed forms: each test measures the engine against a formula on paper.

mod rebound;
mod slip;
mod top;

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
