//! What a picture looks like, as far as one may choose.

use crate::color::Theme;

/// Most pixels along a side: beyond it a picture is a mistake, or a poster.
pub const MOST_PIXELS: usize = 8192;
/// Most frames of a film: 12 s at 25 frames a second; a longer one shows fewer a second.
pub const MOST_FRAMES: usize = 300;
/// Bytes of a film unless told otherwise: what pages and mails take without asking.
pub const MOST_BYTES: usize = 6 << 20;
/// Most panels of a strip.
pub const MOST_PANELS: usize = 100;

/// A kind of picture, named by the ending of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `.gif`: a film that repeats.
    Gif,
    /// `.png`: a still or a strip, in pixels.
    Png,
    /// `.svg`: a still or a strip, in lines and areas.
    Svg,
}

impl Kind {
    /// Endings that name a kind.
    pub const ENDINGS: &'static [&'static str] = &[".gif", ".png", ".svg"];

    /// The kind a file's ending names.
    pub fn of(path: &std::path::Path) -> Option<Kind> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "gif" => Some(Kind::Gif),
            "png" => Some(Kind::Png),
            "svg" => Some(Kind::Svg),
            _ => None,
        }
    }
    /// Width [pixels] unless told otherwise: films are looked at on pages, stills in print.
    fn width(self) -> usize {
        match self {
            Kind::Gif => 480,
            Kind::Png => 960,
            Kind::Svg => 640,
        }
    }
}

/// Choices of a picture; the default is a still of the end, or the whole run as a film at its own speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Width [pixels] of a panel; by default what suits the kind.
    pub width: Option<usize>,
    /// Height [pixels] of a panel; by default what suits the scene.
    pub height: Option<usize>,
    /// Panels of a strip; 1 is a still of the end.
    pub panels: usize,
    /// Frames per second of a film.
    pub rate: f64,
    /// Seconds of the run in a second of the film.
    pub speed: f64,
    /// Whether bodies leave a line behind.
    pub trails: bool,
    /// The paper.
    pub theme: Theme,
    /// Whether the time is written in the corner.
    pub clock: bool,
    /// Bytes of a film beyond which it is made again with fewer frames a second.
    pub most_bytes: usize,
    /// Whether the camera goes along with what moves; by default it does where that goes a long way together.
    pub follow: Option<bool>,
}

/// Frames per second of a film unless told otherwise: four hundredths, a delay that every reader of the format keeps.
const RATE: f64 = 25.0;

impl Default for Options {
    fn default() -> Self {
        Options {
            width: None,
            height: None,
            panels: 1,
            rate: RATE,
            speed: 1.0,
            trails: false,
            theme: Theme::default(),
            clock: true,
            most_bytes: MOST_BYTES,
            follow: None,
        }
    }
}

impl Options {
    /// Width of a panel [pixels].
    pub(crate) fn width_for(&self, kind: Kind) -> usize {
        self.width.unwrap_or_else(|| kind.width())
    }
}
