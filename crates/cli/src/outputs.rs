//! The files of a run: opened before the first step, so that a path that cannot be written costs no computing.

use crate::args::PictureArgs;
use crate::failure::{Failure, Fault};
use crate::page;
use crate::pictures::Picture;
use crate::source::foreign;
use carom::dynamics::{Interrupt, Model};
use carom::record::{AtomicFile, Export, Format, Log, partial_path};
use carom_render::{Draw, Kind};
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
    pictures: Vec<Picture>,
}

impl Outputs {
    /// Opens the exports; `paths` is not empty. The log itself is opened by the run.
    pub fn open(paths: &[PathBuf], picture: &PictureArgs) -> Result<Self, Failure> {
        let mut log = None;
        let mut others: Vec<&PathBuf> = Vec::new();
        let mut drawn: Vec<&PathBuf> = Vec::new();
        let mut pages: Vec<&PathBuf> = Vec::new();
        for (k, path) in paths.iter().enumerate() {
            if paths[..k].contains(path) {
                return Err(Failure::bad_input(Fault::new(format!("{}: named twice", path.display()))));
            }
            match Format::of(path) {
                Err(_) if page::is_page(path) => pages.push(path),
                Err(_) if Picture::is_named(path) => drawn.push(path),
                Err(_) => return Err(unknown_ending(path)),
                Ok(Format::Log) if log.is_none() => log = Some(path),
                _ => others.push(path),
            }
        }
        let temporary = log.is_none();
        let log = log.cloned().unwrap_or_else(|| added(&paths[0], ".caromlog"));
        let exports = others.into_iter().map(|path| Export::create(path)).collect::<Result<_, _>>()?;
        let pages = pages.into_iter().map(|path| AtomicFile::create(path)).collect::<Result<_, _>>()?;
        let mut pictures = Vec::new();
        for path in drawn {
            pictures.extend(Picture::create(path, picture)?);
        }
        Ok(Outputs { log, temporary, exports, pages, pictures })
    }
    /// Whether the run must be watched for a page.
    pub fn wants_page(&self) -> bool {
        !self.pages.is_empty()
    }
    /// Makes the other files from the finished log of a model and what was watched; returns all that was asked for and written. A log that nobody asked for goes,
    /// unless the run is `unfinished`: it is what the run goes on from.
    pub fn finish<G: Draw>(
        self,
        model: &Model<G>,
        watched: Option<&Recorder>,
        interrupt: &Interrupt,
        unfinished: bool,
        quiet: bool,
    ) -> Result<Vec<PathBuf>, Failure> {
        let mut written = Vec::new();
        if !self.temporary || unfinished {
            written.push(self.log.clone());
        }
        if !(self.exports.is_empty() && self.pictures.is_empty()) {
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
            for picture in self.pictures {
                let safe = || format!("the run itself is safe in {0}: `carom convert {0} FILE`", self.log.display());
                written.push(picture.write(&log, model, interrupt, quiet).map_err(|failure| failure.with_help(safe))?);
            }
        }
        for (file, recorder) in self.pages.into_iter().zip(watched.into_iter().cycle()) {
            written.push(page::write(file, &recorder.html())?);
        }
        if self.temporary && !unfinished {
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

/// Endings of all files a run can be saved to.
pub fn endings() -> Vec<&'static str> {
    [".html"].iter().chain(Format::ENDINGS).chain(Kind::ENDINGS).copied().collect()
}

fn unknown_ending(path: &Path) -> Failure {
    let help = format!("the ending names the format; allowed: {}", endings().join(", "));
    let what = match (foreign(path), path.extension()) {
        (Some(kind), _) => format!("{kind}, which is not written"),
        (None, Some(ending)) => format!("ending \".{}\" names no format", ending.to_string_lossy()),
        (None, None) => "a file needs an ending, which names its format".to_string(),
    };
    Failure::bad_input(Fault::new(format!("{}: {what}", path.display())).help(help))
}
