//! Colours: the bodies' own, and the two themes they stand in.

use carom_dynamics::{Body, BodyKind};
use carom_geometry::Geometry;
use carom_scene::PALETTE;

/// Red, green and blue, 0 to 1.
pub type Rgb = [f64; 3];

/// Largest value of a byte of colour.
const BYTE: f64 = 255.0;
/// Bits of one channel in `0xrrggbb`.
const CHANNEL_BITS: u32 = 8;
/// Luminance of the channels (Rec. 709).
const LUMA: Rgb = [0.2126, 0.7152, 0.0722];

/// A colour from `0xrrggbb`.
pub const fn rgb(hex: u32) -> Rgb {
    [channel(hex, 2 * CHANNEL_BITS), channel(hex, CHANNEL_BITS), channel(hex, 0)]
}

const fn channel(hex: u32, shift: u32) -> f64 {
    ((hex >> shift) & 0xff) as f64 / BYTE
}

/// Part `t` of the way from a to b.
pub fn mix(a: Rgb, b: Rgb, t: f64) -> Rgb {
    [0, 1, 2].map(|k| a[k] + (b[k] - a[k]) * t)
}

/// Brighter or darker by a factor, within range.
pub fn scaled(a: Rgb, by: f64) -> Rgb {
    a.map(|c| (c * by).clamp(0.0, 1.0))
}

/// Luminance, 0 to 1.
pub fn luma(a: Rgb) -> f64 {
    a.iter().zip(LUMA).map(|(c, w)| c * w).sum()
}

/// The nearest bytes.
pub fn bytes(a: Rgb) -> [u8; 3] {
    a.map(|c| (c.clamp(0.0, 1.0) * BYTE).round() as u8)
}

/// The colour as `#rrggbb`.
pub fn hex(a: Rgb) -> String {
    let [r, g, b] = bytes(a);
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// The paper on which bodies are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark lines on warm white.
    #[default]
    Light,
    /// Light lines on slate.
    Dark,
}

/// The colours of a theme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ink {
    /// Behind everything.
    pub paper: Rgb,
    /// Inside of the ground.
    pub ground: Rgb,
    /// Edge of the ground, walls of no thickness.
    pub edge: Rgb,
    /// Bodies that never move and name no colour.
    pub fixed: Rgb,
    /// Letters, pins, ropes.
    pub line: Rgb,
    /// Inside of pins.
    pub pin: Rgb,
}

impl Theme {
    /// Its colours.
    pub const fn ink(self) -> Ink {
        match self {
            Theme::Light => Ink {
                paper: rgb(0xfaf9f6),
                ground: rgb(0xe4e1da),
                edge: rgb(0x8f8b83),
                fixed: rgb(0xb4b0a8),
                line: rgb(0x3d3d42),
                pin: rgb(0xffffff),
            },
            Theme::Dark => Ink {
                paper: rgb(0x1c2026),
                ground: rgb(0x2c3139),
                edge: rgb(0x727a86),
                fixed: rgb(0x5c6470),
                line: rgb(0xd6d8dc),
                pin: rgb(0x14171b),
            },
        }
    }
}

/// The colour of a body: its own; that of fixed things where it never moves and the scene leaves the colour to us.
pub fn of_body<G: Geometry>(index: usize, body: &Body<G>, ink: &Ink) -> Rgb {
    let named = body.color != PALETTE[index % PALETTE.len()];
    if body.kind == BodyKind::Static && !named { ink.fixed } else { rgb(body.color) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        for hex_value in [0, 0xffffff, 0x4e79a7, 0x010203] {
            assert_eq!(hex(rgb(hex_value)), format!("#{hex_value:06x}"));
        }
    }

    #[test]
    fn every_body_stands_out_from_both_papers() {
        /// Least difference of luminance, of 1.
        const LEAST: f64 = 0.14;
        for theme in [Theme::Light, Theme::Dark] {
            let ink = theme.ink();
            for color in PALETTE {
                assert!((luma(rgb(color)) - luma(ink.paper)).abs() > LEAST, "{color:06x} on {theme:?}");
            }
            assert!((luma(ink.line) - luma(ink.paper)).abs() > 2.0 * LEAST);
        }
    }
}
