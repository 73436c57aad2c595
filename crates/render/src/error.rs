//! Why a picture could not be made.

use carom_record::RecordError;
use std::fmt;
use std::io;

/// A picture that could not be made.
#[derive(Debug)]
#[non_exhaustive]
pub enum RenderError {
    /// The log could not be read.
    Record(RecordError),
    /// The log holds no frame, or one that is not finite.
    Frame(&'static str),
    /// The picture would be larger than can be drawn.
    Size {
        /// Pixels asked for, across and down.
        pixels: [usize; 2],
        /// Most that are drawn along a side.
        most: usize,
    },
    /// The file could not be written.
    Io(io::Error),
    /// The encoder of the format refused.
    Encode(String),
    /// There is no encoder for films of this kind.
    NoEncoder {
        /// What was looked for.
        sought: String,
    },
    /// Whoever watches the progress asked to stop.
    Stopped,
}

impl fmt::Display for RenderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RenderError::Record(error) => write!(f, "{error}"),
            RenderError::Frame(what) => write!(f, "cannot draw: {what}"),
            RenderError::Size { pixels: [w, h], most } => write!(f, "cannot draw {w} x {h} pixels: at most {most} along a side"),
            RenderError::Io(error) => write!(f, "cannot write: {error}"),
            RenderError::Encode(what) => write!(f, "cannot encode: {what}"),
            RenderError::NoEncoder { sought } => write!(f, "cannot encode .mp4 and .webm: {sought}"),
            RenderError::Stopped => write!(f, "stopped"),
        }
    }
}

impl std::error::Error for RenderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RenderError::Record(error) => Some(error),
            RenderError::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<RecordError> for RenderError {
    fn from(error: RecordError) -> Self {
        RenderError::Record(error)
    }
}

impl From<io::Error> for RenderError {
    fn from(error: io::Error) -> Self {
        RenderError::Io(error)
    }
}
