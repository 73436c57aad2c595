//! Pictures of a run: what the options mean, and files that appear whole or not at all.

use crate::args::{CameraChoice, Paper, PictureArgs};
use crate::failure::{Failure, Fault};
use crate::progress;
use carom::dynamics::{Interrupt, Model};
use carom::record::{AtomicFile, Log};
use carom_render::options::FASTEST_GIF;
use carom_render::{Draw, Kind, Options, RenderError, Theme, encoder, render};
use std::path::{Path, PathBuf};

/// A picture whose file is open.
#[derive(Debug)]
pub struct Picture {
    kind: Kind,
    file: AtomicFile,
    options: Options,
}

/// What the arguments ask for.
pub fn options(args: &PictureArgs) -> Options {
    let plain = Options::default();
    let [width, height] = args.size.unwrap_or([None, None]);
    Options {
        width,
        height,
        panels: args.frames.map_or(plain.panels, |n| n as usize),
        rate: args.fps,
        speed: args.speed.unwrap_or(plain.speed),
        trails: args.trails,
        theme: match args.theme.unwrap_or_default() {
            Paper::Light => Theme::Light,
            Paper::Dark => Theme::Dark,
        },
        clock: !args.no_clock,
        most_bytes: plain.most_bytes,
        follow: match args.camera.unwrap_or_default() {
            CameraChoice::Auto => None,
            CameraChoice::Still => Some(false),
            CameraChoice::Follow => Some(true),
        },
        encoder: None,
    }
}

impl Picture {
    /// Whether a path's ending names a picture.
    pub fn is_named(path: &Path) -> bool {
        Kind::of(path).is_some()
    }
    /// Opens the file of a picture; `None` where the ending names none. What cannot be made is told before anything is computed.
    pub fn create(path: &Path, args: &PictureArgs) -> Result<Option<Self>, Failure> {
        let Some(kind) = Kind::of(path) else { return Ok(None) };
        let fault = |what: String| Fault::new(format!("{}: {what}", path.display()));
        if kind == Kind::Gif && args.fps.is_some_and(|fps| fps > FASTEST_GIF) {
            return Err(Failure::bad_input(
                fault(format!("a .gif shows at most {FASTEST_GIF} frames a second")).help("lower --fps, or write .mp4"),
            ));
        }
        if kind.needs_encoder() {
            encoder(None).map_err(|error| Failure::Failed(vec![fault(error.to_string())]))?;
        }
        Ok(Some(Picture { kind, file: AtomicFile::create(path)?, options: options(args) }))
    }
    /// Draws a log and puts the file in place.
    pub fn write<G: Draw>(mut self, log: &Log, model: &Model<G>, interrupt: &Interrupt, quiet: bool) -> Result<PathBuf, Failure> {
        let path = self.file.path().to_path_buf();
        let already = interrupt.raised();
        let bar = progress::bar(quiet, &path.display().to_string(), 0, "frames");
        let drawn = render(log, model, self.kind, &self.options, &mut self.file, &mut |done, of| {
            bar.set_length(of as u64);
            bar.set_position(done as u64);
            // A run that was stopped is drawn as far as it went; only a later wish to stop concerns the picture.
            already || !interrupt.raised()
        });
        bar.finish_and_clear();
        match drawn {
            Ok(_) => Ok(self.file.commit()?),
            Err(RenderError::Stopped) => Err(Failure::Interrupted),
            Err(error @ RenderError::Size { .. }) => Err(Failure::bad_input(Fault::new(format!("{}: {error}", path.display())))),
            Err(error) => Err(Failure::Failed(vec![Fault::new(format!("{}: {error}", path.display()))])),
        }
    }
}
