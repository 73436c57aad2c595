//! Pixels.

use crate::color::{Rgb, bytes};
use crate::error::RenderError;
use crate::options::MOST_PIXELS;

/// Bytes of a pixel.
pub const CHANNELS: usize = 3;

/// A picture in pixels, rows from the top, three bytes each.
#[derive(Clone, Debug, PartialEq)]
pub struct Canvas {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// Red, green and blue of every pixel.
    pub rgb: Vec<u8>,
}

/// Refuses sizes that nobody can mean.
pub fn check_size(width: usize, height: usize) -> Result<(), RenderError> {
    let fits = |side: usize| (1..=MOST_PIXELS).contains(&side);
    if fits(width) && fits(height) { Ok(()) } else { Err(RenderError::Size { pixels: [width, height], most: MOST_PIXELS }) }
}

impl Canvas {
    /// A canvas of one colour.
    pub fn new(width: usize, height: usize, paper: Rgb) -> Self {
        let pixel = bytes(paper);
        Canvas { width, height, rgb: pixel.iter().copied().cycle().take(CHANNELS * width * height).collect() }
    }
    /// Copies another canvas to a place; what does not fit is left out.
    pub fn put(&mut self, other: &Canvas, left: usize, top: usize) {
        let across = other.width.min(self.width.saturating_sub(left));
        for row in 0..other.height.min(self.height.saturating_sub(top)) {
            let from = CHANNELS * row * other.width;
            let to = CHANNELS * ((row + top) * self.width + left);
            self.rgb[to..to + CHANNELS * across].copy_from_slice(&other.rgb[from..from + CHANNELS * across]);
        }
    }
    /// The bytes of a pixel.
    pub fn pixel(&self, x: usize, y: usize) -> [u8; CHANNELS] {
        let at = CHANNELS * (y * self.width + x);
        [self.rgb[at], self.rgb[at + 1], self.rgb[at + 2]]
    }
}
