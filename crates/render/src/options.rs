//! What a picture looks like, as far as one may choose.

use crate::color::Theme;
use std::path::PathBuf;

/// Most pixels along a side: beyond it a picture is a mistake, or a poster.
pub const MOST_PIXELS: usize = 8192;
/// Most frames of a `.gif`: 12 s at 25 frames a second; a longer one shows fewer a second.
pub const MOST_FRAMES: usize = 300;
/// Most frames of a `.mp4` or `.webm`, likewise: half an hour at 25 frames a second.
pub const MOST_VIDEO_FRAMES: usize = 45_000;
/// Most frames a second of a `.gif`: readers slow down what is faster.
pub const FASTEST_GIF: f64 = 50.0;
/// Bytes of a film unless told otherwise: what pages and mails take without asking.
pub const MOST_BYTES: usize = 6 << 20;
/// Most panels of a strip.
pub const MOST_PANELS: usize = 100;

/// A kind of picture, named by the ending of its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `.gif`: a film that repeats.
    Gif,
    /// `.mp4`: a film, by an encoder that is a program of its own.
    Mp4,
    /// `.webm`: the same in the format of the web.
    Webm,
    /// `.png`: a still or a strip, in pixels.
    Png,
    /// `.svg`: a still or a strip, in lines and areas.
    Svg,
    /// `.glb`: bodies and their motion in space, as binary glTF.
    Glb,
    /// `.usda`: the same as a USD stage in text.
    Usda,
}

impl Kind {
    /// Endings that name a kind.
    pub const ENDINGS: &'static [&'static str] = &[".gif", ".mp4", ".webm", ".png", ".svg", ".glb", ".usda"];

    /// The kind a file's ending names.
    pub fn of(path: &std::path::Path) -> Option<Kind> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "gif" => Some(Kind::Gif),
            "mp4" => Some(Kind::Mp4),
            "webm" => Some(Kind::Webm),
            "png" => Some(Kind::Png),
            "svg" => Some(Kind::Svg),
            "glb" => Some(Kind::Glb),
            "usda" => Some(Kind::Usda),
            _ => None,
        }
    }
    /// Width \[pixels\] unless told otherwise: films are looked at on pages, stills in print.
    fn width(self) -> usize {
        match self {
            Kind::Gif => 480,
            Kind::Mp4 | Kind::Webm | Kind::Png | Kind::Glb | Kind::Usda => 960,
            Kind::Svg => 640,
        }
    }
    /// Frames per second unless told otherwise: of a `.gif` four hundredths apart, a delay that every reader of the format keeps; of motion
    /// that is drawn elsewhere as many as screens show.
    fn rate(self) -> f64 {
        match self {
            Kind::Mp4 | Kind::Webm => 30.0,
            Kind::Glb | Kind::Usda => 60.0,
            Kind::Gif | Kind::Png | Kind::Svg => 25.0,
        }
    }
    /// Whether it is made by an encoder that is a program of its own.
    pub fn needs_encoder(self) -> bool {
        matches!(self, Kind::Mp4 | Kind::Webm)
    }
}

/// Choices of a picture; the default is a still of the end, or the whole run as a film at its own speed.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Width \[pixels\] of a panel; by default what suits the kind.
    pub width: Option<usize>,
    /// Height \[pixels\] of a panel; by default what suits the scene.
    pub height: Option<usize>,
    /// Panels of a strip; 1 is a still of the end.
    pub panels: usize,
    /// Frames per second of a film; by default what suits the kind.
    pub rate: Option<f64>,
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
    /// The program that encodes `.mp4` and `.webm`; by default that of `CAROM_FFMPEG`, or `ffmpeg` on the path.
    pub encoder: Option<PathBuf>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            width: None,
            height: None,
            panels: 1,
            rate: None,
            speed: 1.0,
            trails: false,
            theme: Theme::default(),
            clock: true,
            most_bytes: MOST_BYTES,
            follow: None,
            encoder: None,
        }
    }
}

impl Options {
    /// Frames per second.
    pub(crate) fn rate_for(&self, kind: Kind) -> f64 {
        self.rate.unwrap_or_else(|| kind.rate())
    }
    /// Width of a panel \[pixels\].
    pub(crate) fn width_for(&self, kind: Kind) -> usize {
        self.width.unwrap_or_else(|| kind.width())
    }
}
