//! The files of a run: opened before the first step, so that a path that cannot be written costs no computing.

use crate::failure::{Failure, Fault};
use crate::page;
use carom::record::{AtomicFile, Export, Format, Log, partial_path};
use carom_web::Recorder;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a run is recorded and what is made of it afterwards.
#[derive(Debug)]
pub struct Outputs {
    /// The log that is written while the run goes on; every other file is made from it.
    pub log: PathBuf,
    /// Nobody asked for the log itself: it goes when the exports are done.
    temporary: bool,
    exports: Vec<Export>,
    pages: Vec<AtomicFile>,
}

impl Outputs {
    /// Opens the exports; `paths` is not empty. The log itself is opened by the run.
    pub fn open(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut log = None;
        let mut others: Vec<&PathBuf> = Vec::new();
        for path in paths {
            match Format::of(path) {
                Err(_) if page::is_page(path) && !others.contains(&path) => others.push(path),
                Err(_) if !page::is_page(path) => return Err(unknown_ending(path)),
                _ if others.contains(&path) || log == Some(path) => {
                    return Err(Failure::bad_input(Fault::new(format!("{}: named twice", path.display()))));
                }
                Ok(Format::Log) if log.is_none() => log = Some(path),
                _ => others.push(path),
            }
        }
        let temporary = log.is_none();
        let log = log.cloned().unwrap_or_else(|| added(&paths[0], ".caromlog"));
        let (pages, others): (Vec<&PathBuf>, Vec<&PathBuf>) = others.into_iter().partition(|path| page::is_page(path));
        let exports = others.into_iter().map(|path| Export::create(path)).collect::<Result<_, _>>()?;
        let pages = pages.into_iter().map(|path| AtomicFile::create(path)).collect::<Result<_, _>>()?;
        Ok(Outputs { log, temporary, exports, pages })
    }
    /// Whether the run must be watched for a page.
    pub fn wants_page(&self) -> bool {
        !self.pages.is_empty()
    }
    /// Makes the other files from the finished log and what was watched; returns all that was asked for and written.
    pub fn finish(self, watched: Option<&Recorder>) -> Result<Vec<PathBuf>, Failure> {
        let mut written = Vec::new();
        if !self.temporary {
            written.push(self.log.clone());
        }
        if !self.exports.is_empty() {
            let log = Log::open(&self.log)?;
            for export in self.exports {
                match export.write(&log) {
                    Ok(paths) => written.extend(paths),
                    Err(error) => {
                        let help = format!("the run itself is safe in {0}: `carom convert {0} FILE`", self.log.display());
                        return Err(Failure::Failed(vec![Fault::new(error.to_string()).help(help)]));
                    }
                }
            }
        }
        for (file, recorder) in self.pages.into_iter().zip(watched.into_iter().cycle()) {
            written.push(page::write(file, &recorder.html())?);
        }
        if self.temporary {
            // A log left behind is untidy, not wrong.
            let _ = fs::remove_file(&self.log);
        }
        Ok(written)
    }
    /// The log as it stands on disk while it is written.
    pub fn part(&self) -> PathBuf {
        partial_path(&self.log)
    }
}

/// A path with letters behind its last one.
fn added(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_os_string();
    name.push(ending);
    PathBuf::from(name)
}

fn unknown_ending(path: &Path) -> Failure {
    let ending = path.extension().map_or_else(|| "no ending".to_string(), |e| format!("ending \".{}\"", e.to_string_lossy()));
    let help = format!("the ending names the format; allowed: {}, .html", Format::ENDINGS.join(", "));
    Failure::bad_input(Fault::new(format!("{}: {ending} names no format", path.display())).help(help))
}
