//! Files of pixels.

pub mod gif;
pub mod palette;
pub mod png;
pub mod video;
