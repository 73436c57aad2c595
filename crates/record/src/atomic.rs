//! Files that appear whole or not at all: written under another name, renamed when finished.

use crate::error::RecordError;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Ending of a file that is still being written.
const PARTIAL: &str = ".part";

/// Where a file is while it is being written: its name with `.part` behind it.
pub fn partial_path(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(PARTIAL);
    PathBuf::from(name)
}

/// A file under its `.part` name until [`commit`](AtomicFile::commit) renames it.
///
/// Dropped without it, the part is removed, unless [`keep_part`](AtomicFile::keep_part) was asked for. What stood under the final
/// name stays untouched until the rename.
#[derive(Debug)]
pub struct AtomicFile {
    path: PathBuf,
    part: PathBuf,
    // `None` only after commit took it.
    file: Option<BufWriter<File>>,
    keep: bool,
}

impl AtomicFile {
    /// Opens the part of a file, empty and locked; fails at once where the file itself could not be put.
    pub fn create(path: &Path) -> Result<Self, RecordError> {
        AtomicFile::open(path, 0)
    }
    /// Opens the part of a file that an earlier run left, cut to a length; writing goes on behind it.
    pub fn reopen(path: &Path, length: u64) -> Result<Self, RecordError> {
        let mut file = AtomicFile::open(path, length)?;
        file.seek(SeekFrom::End(0)).map_err(RecordError::io("write", path))?;
        Ok(file)
    }
    fn open(path: &Path, length: u64) -> Result<Self, RecordError> {
        let refused = |source| RecordError::Io { action: "write", path: path.to_path_buf(), source };
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => return Err(refused(io::Error::from(io::ErrorKind::IsADirectory))),
            Ok(found) if !found.is_file() => return Err(refused(io::Error::other("not a regular file"))),
            Ok(found) if found.permissions().readonly() => return Err(refused(io::Error::from(io::ErrorKind::PermissionDenied))),
            _ => {}
        }
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
            let missing = io::Error::new(io::ErrorKind::NotFound, format!("there is no folder {}", folder.display()));
            return Err(RecordError::Io { action: "create", path: path.to_path_buf(), source: missing });
        }
        let part = partial_path(path);
        let file =
            OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&part).map_err(RecordError::io("create", path))?;
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(RecordError::Busy { path: path.to_path_buf() }),
            // Some file systems know no locks; two runs into one file are then the user's to avoid.
            Ok(()) | Err(TryLockError::Error(_)) => {}
        }
        file.set_len(length).map_err(RecordError::io("create", path))?;
        Ok(AtomicFile { path: path.to_path_buf(), part, file: Some(BufWriter::new(file)), keep: false })
    }
    /// Leaves the part on disk if the file is never committed: it is worth reading as far as it goes.
    pub fn keep_part(&mut self) {
        self.keep = true;
    }
    /// The final name.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// Writes everything through to the disk and gives the file its name.
    pub fn commit(mut self) -> Result<PathBuf, RecordError> {
        let renamed = self.put_in_place();
        if renamed.is_ok() {
            self.keep = true;
        }
        renamed.map(|()| self.path.clone())
    }
    fn put_in_place(&mut self) -> Result<(), RecordError> {
        if let Some(mut writer) = self.file.take() {
            let done = writer.flush().and_then(|()| writer.get_ref().sync_all());
            if let Err(source) = done {
                // The part goes with `self`; the writer must not try again while it is dropped.
                let _ = writer.into_parts();
                return Err(RecordError::Io { action: "write", path: self.path.clone(), source });
            }
        }
        fs::rename(&self.part, &self.path).map_err(RecordError::io("rename into place", &self.path))
    }
    fn writer(&mut self) -> io::Result<&mut BufWriter<File>> {
        self.file.as_mut().ok_or_else(|| io::Error::other("already closed"))
    }
}

impl Write for AtomicFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer()?.write(bytes)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
    }
}

impl Seek for AtomicFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.writer()?.seek(to)
    }
}

impl Drop for AtomicFile {
    fn drop(&mut self) {
        if let Some(writer) = self.file.take() {
            if self.keep {
                drop(writer);
            } else {
                let _ = writer.into_parts();
            }
        }
        if !self.keep {
            // Nothing more can be done about a part that cannot be removed.
            let _ = fs::remove_file(&self.part);
        }
    }
}
