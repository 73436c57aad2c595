//! From a log to the files other programs read.

use crate::atomic::AtomicFile;
use crate::error::RecordError;
use crate::replay::Log;
use crate::{csv, mcap, npz};
use std::path::{Path, PathBuf};

/// A file format, named by the ending of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `.caromlog`: exact and resumable.
    Log,
    /// `.csv`: one row per frame and body.
    Csv,
    /// `.npz`: NumPy arrays.
    Npz,
    /// `.mcap`: poses and energies for robotics tools; written, not read back.
    Mcap,
    /// `.parquet`: the rows of `.csv`, and energies in `NAME.energy.parquet` beside it.
    #[cfg(feature = "parquet")]
    Parquet,
}

impl Format {
    /// Endings that name a format.
    pub const ENDINGS: &'static [&'static str] = &[
        ".caromlog",
        ".csv",
        ".npz",
        ".mcap",
        #[cfg(feature = "parquet")]
        ".parquet",
    ];

    /// The format a file's ending names.
    pub fn of(path: &Path) -> Result<Self, RecordError> {
        match path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("caromlog") => Ok(Format::Log),
            Some("csv") => Ok(Format::Csv),
            Some("npz") => Ok(Format::Npz),
            Some("mcap") => Ok(Format::Mcap),
            #[cfg(feature = "parquet")]
            Some("parquet") => Ok(Format::Parquet),
            _ => Err(RecordError::Format { path: path.to_path_buf(), allowed: Format::ENDINGS }),
        }
    }
}

/// Files opened for an export, before anything is computed: what cannot be written shows at once.
#[derive(Debug)]
pub struct Export {
    format: Format,
    file: AtomicFile,
    /// The table of energies.
    second: Option<AtomicFile>,
}

/// The table of energies beside a table of the motion: `run.parquet` has `run.energy.parquet`.
pub fn energy_path(path: &Path) -> PathBuf {
    path.with_extension("energy.parquet")
}

impl Export {
    /// Opens the files of an export.
    ///
    /// # Errors
    /// The ending names no format, or the file cannot be written.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        let format = Format::of(path)?;
        let second = match format {
            #[cfg(feature = "parquet")]
            Format::Parquet => Some(AtomicFile::create(&energy_path(path))?),
            _ => None,
        };
        Ok(Export { format, file: AtomicFile::create(path)?, second })
    }
    /// Writes a log; the files appear whole, or not at all. Returns their names.
    pub fn write(mut self, log: &Log) -> Result<Vec<PathBuf>, RecordError> {
        let path = self.file.path().to_path_buf();
        match self.format {
            Format::Log => log.copy(&mut self.file)?,
            Format::Csv => csv::write(log, &mut self.file, &path)?,
            Format::Npz => npz::write(log, &mut self.file, &path)?,
            Format::Mcap => mcap::write(log, &mut self.file, &path)?,
            #[cfg(feature = "parquet")]
            Format::Parquet => crate::parquet::write_motion(log, &mut self.file, &path)?,
        }
        #[cfg(feature = "parquet")]
        if let Some(second) = &mut self.second {
            let path = second.path().to_path_buf();
            crate::parquet::write_energy(log, second, &path)?;
        }
        let mut written = vec![self.file.commit()?];
        if let Some(second) = self.second {
            written.push(second.commit()?);
        }
        Ok(written)
    }
}

/// Writes a log to a file in the format its ending names; returns the files written.
pub fn export(log: &Log, path: &Path) -> Result<Vec<PathBuf>, RecordError> {
    Export::create(path)?.write(log)
}
