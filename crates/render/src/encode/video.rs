//! Films for players (`.mp4`, `.webm`): the pixels go to ffmpeg, a program of its own, which is looked for and never brought along.

use crate::canvas::Canvas;
use crate::error::RenderError;
use crate::options::Kind;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;

/// The variable that names the encoder, and the name it has on the path.
const VARIABLE: &str = "CAROM_FFMPEG";
const PROGRAM: &str = "ffmpeg";
/// Sizes that are no even numbers get a row or column more, as players want them.
const EVEN: &str = "pad=ceil(iw/2)*2:ceil(ih/2)*2:color=black@0,scale=out_color_matrix=bt709:out_range=tv";
/// How the pixels are coded: flat colours and sharp edges at a quality that shows no blocks, in the form that every player knows.
const MP4: &[&str] = &["-c:v", "libx264", "-crf", "18", "-preset", "medium", "-movflags", "+faststart", "-f", "mp4"];
const WEBM: &[&str] =
    &["-c:v", "libvpx-vp9", "-crf", "28", "-b:v", "0", "-deadline", "good", "-cpu-used", "4", "-row-mt", "1", "-f", "webm"];

/// The encoder: the one chosen, that of `CAROM_FFMPEG`, or `ffmpeg` on the path.
///
/// # Errors
/// None of them is there.
pub fn encoder(chosen: Option<&Path>) -> Result<PathBuf, RenderError> {
    let named = chosen.map(Path::to_path_buf).or_else(|| std::env::var_os(VARIABLE).filter(|name| !name.is_empty()).map(PathBuf::from));
    if let Some(path) = named {
        let sought = || RenderError::NoEncoder { sought: format!("{} is no file ({VARIABLE})", path.display()) };
        return if path.is_file() { Ok(path) } else { Err(sought()) };
    }
    let name = format!("{PROGRAM}{}", std::env::consts::EXE_SUFFIX);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(&name)).find(|path| path.is_file()).ok_or_else(|| RenderError::NoEncoder {
        sought: format!("no {PROGRAM} on the path; install it, set {VARIABLE}, or make a .gif, which needs nothing"),
    })
}

/// Hands a film to the encoder frame by frame.
#[derive(Debug)]
pub struct VideoWriter {
    child: Child,
    input: Option<ChildStdin>,
    /// What it complains of; read aside, so that it never waits for us.
    said: Option<JoinHandle<String>>,
    /// Where it writes: players want the index first, so the encoder must be able to go back.
    file: PathBuf,
}

impl VideoWriter {
    /// Starts the encoder for a film of a size \[pixels\] at `rate` frames a second.
    ///
    /// # Errors
    /// There is none, or it does not start.
    pub fn new(kind: Kind, [width, height]: [usize; 2], rate: f64, chosen: Option<&Path>) -> Result<Self, RenderError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let program = encoder(chosen)?;
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let file = std::env::temp_dir().join(format!("carom-film-{}-{number}", std::process::id()));
        let started = Command::new(&program)
            .args(["-hide_banner", "-loglevel", "error", "-nostdin", "-y"])
            .args([
                "-f",
                "rawvideo",
                "-pixel_format",
                "rgb24",
                "-video_size",
                &format!("{width}x{height}"),
                "-framerate",
                &rate.to_string(),
            ])
            .args(["-i", "pipe:0", "-an", "-vf", EVEN, "-pix_fmt", "yuv420p"])
            .args(if kind == Kind::Webm { WEBM } else { MP4 })
            .arg(&file)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = started.map_err(|error| RenderError::Encode(format!("{}: {error}", program.display())))?;
        let (input, complaints) = (child.stdin.take(), child.stderr.take());
        let said = complaints.map(|mut from| {
            std::thread::spawn(move || {
                let mut bytes = Vec::new();
                // Without words the exit code still tells.
                let _ = from.read_to_end(&mut bytes);
                String::from_utf8_lossy(&bytes).trim().to_string()
            })
        });
        Ok(VideoWriter { child, input, said, file })
    }

    /// Adds a frame.
    ///
    /// # Errors
    /// The encoder gave up, with what it said.
    pub fn frame(&mut self, canvas: &Canvas) -> Result<(), RenderError> {
        let sent = self.input.as_mut().map_or(Ok(()), |input| input.write_all(&canvas.rgb));
        sent.map_err(|error| {
            self.input = None;
            let said = self.complaint();
            RenderError::Encode(if said.is_empty() { error.to_string() } else { said })
        })
    }

    /// Ends the film and writes it out.
    ///
    /// # Errors
    /// The encoder failed, or the file cannot be written.
    pub fn finish(mut self, out: &mut dyn Write) -> Result<(), RenderError> {
        self.input = None;
        let ended = self.child.wait()?;
        let said = self.complaint();
        if !ended.success() {
            return Err(RenderError::Encode(if said.is_empty() { format!("the encoder ended with {ended}") } else { said }));
        }
        std::io::copy(&mut std::fs::File::open(&self.file)?, out)?;
        Ok(())
    }

    /// Its last words.
    fn complaint(&mut self) -> String {
        let said = self.said.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        said.lines().last().unwrap_or_default().to_string()
    }
}

impl Drop for VideoWriter {
    fn drop(&mut self) {
        // Where the film was not finished the encoder still runs; that it is gone already is as good.
        self.input = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_file(&self.file);
    }
}
