//! Films that repeat: one palette, delays true to the time, and of each frame only what has changed.

use super::palette::{COLORS, Finder, Histogram, Pixel};
use crate::canvas::{CHANNELS, Canvas};
use crate::color::{Rgb, bytes};
use crate::error::RenderError;
use gif::{DisposalMethod, Encoder, EncodingError, Frame, Repeat};
use std::borrow::Cow;

/// Frames from which the palette is made.
pub const SAMPLES: usize = 8;
/// Units of a delay in a second.
const HUNDREDTHS: f64 = 100.0;
/// Shortest delay [1/100 s] that readers keep; they slow down shorter ones.
const SHORTEST: u16 = 2;
/// How long the last frame stands before the film starts again [1/100 s].
const PAUSE: u16 = 80;
/// The index that leaves a pixel as it was.
const AS_BEFORE: u8 = COLORS as u8;

/// Gathers the colours of a film.
#[derive(Clone, Debug)]
pub struct PaletteMaker {
    histogram: Histogram,
    paper: Pixel,
}

impl PaletteMaker {
    /// For a film on paper of a colour.
    pub fn new(paper: Rgb) -> Self {
        PaletteMaker { histogram: Histogram::default(), paper: bytes(paper) }
    }
    /// Looks at a frame.
    pub fn add(&mut self, canvas: &Canvas) {
        self.histogram.add(canvas);
    }
    /// The palette; never empty.
    pub fn finish(&self) -> Vec<Pixel> {
        let palette = self.histogram.palette();
        if palette.is_empty() { vec![self.paper] } else { palette }
    }
}

/// Writes a film frame by frame.
pub struct GifWriter<'a> {
    encoder: Encoder<&'a mut Vec<u8>>,
    finder: Finder,
    width: usize,
    height: usize,
    /// What is on the screen.
    shown: Vec<u8>,
    next: Vec<u8>,
}

fn failed(error: EncodingError) -> RenderError {
    match error {
        EncodingError::Io(error) => RenderError::Io(error),
        other => RenderError::Encode(other.to_string()),
    }
}

impl<'a> GifWriter<'a> {
    /// Starts a film that repeats for ever.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(out: &'a mut Vec<u8>, width: usize, height: usize, palette: Vec<Pixel>) -> Result<Self, RenderError> {
        // Padded with black, so that "as before" has a place.
        let mut colors: Vec<u8> = palette.concat();
        colors.resize(CHANNELS * (COLORS + 1), 0);
        let mut encoder = Encoder::new(out, width as u16, height as u16, &colors).map_err(failed)?;
        encoder.set_repeat(Repeat::Infinite).map_err(failed)?;
        Ok(GifWriter { encoder, finder: Finder::new(palette), width, height, shown: Vec::new(), next: Vec::new() })
    }
    /// Adds a frame that is shown from one time to another \[s\]; the last one has no end and stands for a while.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn frame(&mut self, canvas: &Canvas, span: Option<[f64; 2]>) -> Result<(), RenderError> {
        let delay = span.map_or(PAUSE, |span| {
            let [from, to] = span.map(|t| (t * HUNDREDTHS).round());
            // Rounded on the clock, not frame by frame, so that errors do not add up.
            (to - from).clamp(f64::from(SHORTEST), f64::from(u16::MAX)) as u16
        });
        self.next.clear();
        for pixel in canvas.rgb.chunks_exact(CHANNELS) {
            self.next.push(self.finder.nearest([pixel[0], pixel[1], pixel[2]]));
        }
        let [left, top, width, height] = if self.shown.is_empty() { [0, 0, self.width, self.height] } else { self.changed() };
        let mut buffer = Vec::with_capacity(width * height);
        for y in top..top + height {
            for x in left..left + width {
                let at = y * self.width + x;
                let same = self.shown.get(at) == Some(&self.next[at]);
                buffer.push(if same { AS_BEFORE } else { self.next[at] });
            }
        }
        let frame = Frame {
            delay,
            dispose: DisposalMethod::Keep,
            transparent: Some(AS_BEFORE),
            left: left as u16,
            top: top as u16,
            width: width as u16,
            height: height as u16,
            buffer: Cow::Owned(buffer),
            ..Frame::default()
        };
        std::mem::swap(&mut self.shown, &mut self.next);
        self.encoder.write_frame(&frame).map_err(failed)
    }
    /// Bytes so far.
    pub fn len(&self) -> usize {
        self.encoder.get_ref().len()
    }
    /// Whether nothing was written.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The least rectangle that holds every change: left, top, width, height.
    fn changed(&self) -> [usize; 4] {
        let (mut left, mut right, mut top, mut bottom) = (self.width, 0, self.height, 0);
        for (y, (a, b)) in self.shown.chunks_exact(self.width).zip(self.next.chunks_exact(self.width)).enumerate() {
            if let Some(first) = a.iter().zip(b).position(|(a, b)| a != b) {
                let last = a.iter().zip(b).rposition(|(a, b)| a != b).unwrap_or(first);
                (left, right) = (left.min(first), right.max(last + 1));
                (top, bottom) = (top.min(y), y + 1);
            }
        }
        // A frame needs a pixel, even if nothing has changed.
        if bottom == 0 { [0, 0, 1, 1] } else { [left, top, right - left, bottom - top] }
    }
    /// Ends the film.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(self) -> Result<(), RenderError> {
        // What the encoder holds back it must write now.
        self.encoder.into_inner().map(|_| ()).map_err(failed)
    }
}
