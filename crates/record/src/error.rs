//! What can go wrong with files of runs.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A file of a run that cannot be written or read.
#[derive(Debug)]
#[non_exhaustive]
pub enum RecordError {
    /// The system refused.
    Io {
        /// What was tried: "create", "write", "read".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Another process is writing this file.
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The file does not start like a log.
    NotALog {
        /// The file.
        path: PathBuf,
    },
    /// The log was written by a version whose format is not known here.
    Version {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The newest that can be read.
        known: u32,
    },
    /// The file ends within its header, or a frame was asked for that is not there.
    Truncated {
        /// The file.
        path: PathBuf,
        /// Byte at which something was missing.
        offset: u64,
        /// What was missing.
        what: &'static str,
    },
    /// The bytes contradict themselves.
    Corrupt {
        /// The file.
        path: PathBuf,
        /// Byte at which the part at fault starts.
        offset: u64,
        /// What is wrong.
        what: String,
    },
    /// The log belongs to another model.
    Mismatch {
        /// The file.
        path: PathBuf,
        /// What differs.
        what: String,
    },
    /// The log was written by another version of the physics: it is read like any other, but its run would not go on to the same bits.
    Physics {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
        /// The version here.
        known: u32,
    },
    /// The log holds no mark to resume from.
    NoMark {
        /// The file.
        path: PathBuf,
    },
    /// The ending of the file names no format.
    Format {
        /// The file.
        path: PathBuf,
        /// Endings that name one.
        allowed: &'static [&'static str],
    },
    /// A table says something that makes no sense.
    Content {
        /// The file.
        path: PathBuf,
        /// Its line or row, from 1; 0 for the columns.
        line: usize,
        /// What was found and what is needed.
        what: String,
    },
    /// The export failed inside the format's own library.
    Export {
        /// The file.
        path: PathBuf,
        /// What the library said.
        what: String,
    },
}

impl RecordError {
    /// An input or output error with its place.
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> RecordError {
        let path = path.to_path_buf();
        move |source| RecordError::Io { action, path, source }
    }
    /// The file at fault.
    pub fn path(&self) -> &Path {
        match self {
            RecordError::Io { path, .. }
            | RecordError::Busy { path }
            | RecordError::NotALog { path }
            | RecordError::Version { path, .. }
            | RecordError::Truncated { path, .. }
            | RecordError::Corrupt { path, .. }
            | RecordError::Mismatch { path, .. }
            | RecordError::Physics { path, .. }
            | RecordError::NoMark { path }
            | RecordError::Format { path, .. }
            | RecordError::Content { path, .. }
            | RecordError::Export { path, .. } => path,
        }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = self.path().display();
        match self {
            RecordError::Io { action, source, .. } => write!(f, "{place}: cannot {action}: {source}"),
            RecordError::Busy { .. } => write!(f, "{place}: another run is writing it"),
            RecordError::NotALog { .. } => write!(f, "{place}: not a carom log"),
            RecordError::Version { found, known, .. } => write!(f, "{place}: log version {found}, known up to {known}"),
            RecordError::Truncated { offset, what, .. } => write!(f, "{place}: cut short at byte {offset}: {what} is missing"),
            RecordError::Corrupt { offset, what, .. } => write!(f, "{place}: damaged at byte {offset}: {what}"),
            RecordError::Mismatch { what, .. } => write!(f, "{place}: belongs to another model: {what}"),
            RecordError::Physics { found, known, .. } => write!(
                f,
                "{place}: written by version {found} of the physics, this is version {known}: it can be replayed and converted, but not resumed, since the \
                 run would not go on to the same bits"
            ),
            RecordError::NoMark { .. } => write!(f, "{place}: holds no point to resume from"),
            RecordError::Format { allowed, .. } => write!(f, "{place}: unknown ending; allowed: {}", allowed.join(", ")),
            RecordError::Content { line: 0, what, .. } => write!(f, "{place}: {what}"),
            RecordError::Content { line, what, .. } => write!(f, "{place}, line {line}: {what}"),
            RecordError::Export { what, .. } => write!(f, "{place}: cannot export: {what}"),
        }
    }
}

impl std::error::Error for RecordError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            RecordError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
