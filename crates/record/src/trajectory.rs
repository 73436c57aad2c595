//! The `.caromlog` file: what it holds, and how it is written while a world runs.
//!
//! All numbers are little-endian; a real number is its 64 bits.
//!
//! | bytes | meaning |
//! |---|---|
//! | 8 | magic `89 43 41 52 4f 4d 0d 0a` |
//! | 4 | version, 1 |
//! | ... | chunks to the end of the file, the first a header |
//!
//! A chunk is a tag (4 bytes), the length of its payload (8), the payload, and the CRC-32 (4) of all three. A text is its length (8)
//! and its bytes. Payloads:
//!
//! | tag | payload |
//! |---|---|
//! | `HEAD` | dimension (4), step \[s\] (8), steps wanted (8), scene name, scene text, count of bodies (8), their names |
//! | `FRAM` | step of the first frame (8), count (8), frames |
//! | `MARK` | step (8), snapshot of the world after it |
//! | `DONE` | steps done (8), ending (4: 0 finished, 1 stopped, 2 failed), text |
//!
//! A frame is time \[s\], kinetic, potential and elastic energy \[J\], contacts (8), then q and v of every body. Frames and the mark behind
//! them reach the disk together, so that a run cut off at any moment leaves whole chunks to read and a mark to go on from.

use crate::atomic::AtomicFile;
use crate::bytes::{Put, Take};
use crate::checksum::Checksum;
use crate::error::RecordError;
use carom_dynamics::{Model, World};
use carom_geometry::Geometry;
use carom_math::{Planar, Space, Spatial};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// First bytes of a log: a byte above ASCII and both line ends, so that a transfer as text shows at once.
pub(crate) const MAGIC: [u8; 8] = *b"\x89CAROM\r\n";
/// Version of the format that is written, and the newest that is read.
pub(crate) const VERSION: u32 = 1;
/// Bytes of magic and version.
pub(crate) const START: u64 = 12;
/// Bytes of a chunk besides its payload: tag, length, checksum.
pub(crate) const CHUNK_FRAME: u64 = 16;
/// Bytes of a chunk before its payload.
pub(crate) const CHUNK_START: u64 = 12;
/// Tag of the header.
pub(crate) const HEAD: [u8; 4] = *b"HEAD";
/// Tag of frames.
pub(crate) const FRAMES: [u8; 4] = *b"FRAM";
/// Tag of a mark to resume from.
pub(crate) const MARK: [u8; 4] = *b"MARK";
/// Tag of the end.
pub(crate) const DONE: [u8; 4] = *b"DONE";
/// Bytes of frames that are gathered before they are written: what a crash may cost, against the cost of marks.
const CHUNK_BYTES: usize = 1 << 18;
/// Frames in a chunk at most: a run of few bodies is written every so often too.
const CHUNK_FRAMES: u64 = 256;
/// Numbers of a frame besides q and v.
const FRAME_EXTRA: usize = 5;
/// Bytes of a number.
pub(crate) const NUMBER: usize = 8;

/// What a log says of its run before the first frame.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// 2 or 3.
    pub dimension: usize,
    /// Time step \[s\].
    pub step: f64,
    /// Steps the run was meant to take; a resumed run takes them unless told otherwise.
    pub steps_wanted: u64,
    /// Name of the scene.
    pub name: String,
    /// The scene as text, complete: reading it gives the model and the start of the run.
    pub scene: String,
    /// Names of the bodies in order.
    pub bodies: Vec<String>,
}

impl Header {
    /// The header of a model's run; `scene` is its text, empty where there is none (such a log cannot be resumed by name).
    pub fn of<G: Geometry>(model: &Model<G>, name: impl Into<String>, scene: impl Into<String>) -> Self {
        Header {
            dimension: G::DIM,
            step: model.step,
            steps_wanted: 0,
            name: name.into(),
            scene: scene.into(),
            bodies: model.bodies.iter().map(|b| b.name.clone()).collect(),
        }
    }
    /// Coordinates of a body: 3 in the plane (x, y, angle), 7 in space (x, y, z, qw, qx, qy, qz).
    pub fn coords(&self) -> usize {
        if self.dimension == Planar::DIM { Planar::COORDS } else { Spatial::COORDS }
    }
    /// Velocity components of a body: 3 in the plane, 6 in space.
    pub fn dof(&self) -> usize {
        if self.dimension == Planar::DIM { Planar::DOF } else { Spatial::DOF }
    }
    /// Bytes of one frame.
    pub(crate) fn frame_bytes(&self) -> usize {
        NUMBER * (FRAME_EXTRA + self.bodies.len() * (self.coords() + self.dof()))
    }
    fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_u32(self.dimension as u32);
        out.put_f64(self.step);
        out.put_u64(self.steps_wanted);
        out.put_bytes(self.name.as_bytes());
        out.put_bytes(self.scene.as_bytes());
        out.put_u64(self.bodies.len() as u64);
        for body in &self.bodies {
            out.put_bytes(body.as_bytes());
        }
        out
    }
    /// Reads a header; says what is wrong with it.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut take = Take(bytes);
        let mut read = || {
            let dimension = take.u32()? as usize;
            let (step, steps_wanted) = (take.f64()?, take.u64()?);
            let (name, scene) = (take.text()?, take.text()?);
            let count = usize::try_from(take.u64()?).ok()?;
            // Every name takes at least its length, so a wild count ends here and not in the allocator.
            let bodies = (0..count).map(|_| take.text()).collect::<Option<Vec<_>>>()?;
            take.0.is_empty().then_some(Header { dimension, step, steps_wanted, name, scene, bodies })
        };
        let header = read().ok_or("the header is malformed")?;
        match header.dimension {
            Planar::DIM | Spatial::DIM => Ok(header),
            _ => Err("the dimension is neither 2 nor 3"),
        }
    }
}

/// The world after one step (or before the first).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Time since the start \[s\].
    pub time: f64,
    /// Kinetic, potential and elastic energy \[J\].
    pub energy: [f64; 3],
    /// Contacts at the end of the step.
    pub contacts: u64,
    /// Coordinates, one body after another.
    pub q: Vec<f64>,
    /// Velocities, one body after another.
    pub v: Vec<f64>,
}

impl Frame {
    /// Takes the frame of a world, reusing the vectors.
    pub fn take<G: Geometry>(&mut self, world: &World<G>) {
        let state = world.state();
        let count = state.poses.len();
        let (kinetic, potential, elastic) = world.energies();
        self.time = state.time;
        self.energy = [kinetic, potential, elastic];
        self.contacts = world.report().contacts as u64;
        self.q.clear();
        self.q.resize(count * G::COORDS, 0.0);
        self.v.clear();
        self.v.resize(count * G::DOF, 0.0);
        for body in 0..count {
            state.write_pose(body, &mut self.q[body * G::COORDS..(body + 1) * G::COORDS]);
            state.write_twist(body, &mut self.v[body * G::DOF..(body + 1) * G::DOF]);
        }
    }
    /// Kinetic + potential + elastic energy \[J\].
    pub fn total_energy(&self) -> f64 {
        self.energy.iter().sum()
    }
    fn put(&self, out: &mut Vec<u8>) {
        out.put_f64(self.time);
        self.energy.iter().for_each(|&e| out.put_f64(e));
        out.put_u64(self.contacts);
        self.q.iter().for_each(|&x| out.put_f64(x));
        self.v.iter().for_each(|&x| out.put_f64(x));
    }
    /// Reads a frame of a log; `None` where the bytes do not suffice.
    pub(crate) fn read(&mut self, take: &mut Take<'_>, header: &Header) -> Option<()> {
        self.time = take.f64()?;
        for e in &mut self.energy {
            *e = take.f64()?;
        }
        self.contacts = take.u64()?;
        for (numbers, each) in [(&mut self.q, header.coords()), (&mut self.v, header.dof())] {
            let raw = take.raw(NUMBER * each * header.bodies.len())?;
            numbers.clear();
            numbers.extend(raw.chunks_exact(NUMBER).map(|b| b.try_into().map_or(f64::NAN, f64::from_le_bytes)));
        }
        Some(())
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It took all its steps.
    Finished,
    /// It was stopped in good order.
    Stopped,
    /// A step failed; why.
    Failed(String),
    /// The file ends without saying so: the run was cut off. Everything before it is whole.
    CutOff,
    /// The bytes from here on are damaged. Everything before them is whole.
    Damaged {
        /// First byte of the damaged part.
        offset: u64,
    },
}

impl Ending {
    /// Code and text in the file; only the first three are ever written.
    fn code(&self) -> (u32, &str) {
        match self {
            Ending::Finished => (0, ""),
            Ending::Failed(why) => (2, why),
            _ => (1, ""),
        }
    }
    /// The ending of a code and text.
    pub(crate) fn of(code: u32, text: String) -> Option<Self> {
        match code {
            0 => Some(Ending::Finished),
            1 => Some(Ending::Stopped),
            2 => Some(Ending::Failed(text)),
            _ => None,
        }
    }
}

/// Writes a log while a world runs.
///
/// Until [`finish`](LogWriter::finish) the file carries `.part` behind its name; if the process dies, what is there can be read and resumed.
#[derive(Debug)]
pub struct LogWriter {
    file: AtomicFile,
    /// Payload of the next chunk of frames, its head left blank.
    frames: Vec<u8>,
    count: u64,
    /// Step of the next frame.
    next: u64,
    frame: Frame,
    bodies: usize,
}

/// Bytes before the frames of a chunk: first step and count.
pub(crate) const FRAMES_HEAD: usize = 2 * NUMBER;

impl LogWriter {
    /// Opens a log and writes its header.
    pub fn create(path: &Path, header: &Header) -> Result<Self, RecordError> {
        let mut writer = LogWriter::on(AtomicFile::create(path)?, header);
        let mut start = MAGIC.to_vec();
        start.put_u32(VERSION);
        writer.write(&start)?;
        writer.chunk(HEAD, &header.to_bytes())?;
        writer.flush()?;
        Ok(writer)
    }
    fn on(mut file: AtomicFile, header: &Header) -> Self {
        file.keep_part();
        LogWriter { file, frames: vec![0; FRAMES_HEAD], count: 0, next: 0, frame: Frame::default(), bodies: header.bodies.len() }
    }
    /// Opens the part of a log again, cut behind the mark after `steps` steps, with a header of the same length.
    pub(crate) fn reopened(path: &Path, header: &Header, length: u64, steps: u64) -> Result<Self, RecordError> {
        let mut writer = LogWriter::on(AtomicFile::reopen(path, length)?, header);
        writer.seek(SeekFrom::Start(START))?;
        writer.chunk(HEAD, &header.to_bytes())?;
        writer.seek(SeekFrom::End(0))?;
        writer.continue_after(steps)?;
        Ok(writer)
    }
    /// The next frame is the one after so many steps.
    pub(crate) fn continue_after(&mut self, steps: u64) -> Result<(), RecordError> {
        self.next = steps + 1;
        self.flush()
    }
    fn seek(&mut self, to: SeekFrom) -> Result<(), RecordError> {
        self.file.seek(to).map(|_| ()).map_err(RecordError::io("write", self.file.path()))
    }
    /// The final name.
    pub fn path(&self) -> &Path {
        self.file.path()
    }
    /// Appends the world's present frame: first the start, then one after each step.
    pub fn record<G: Geometry>(&mut self, world: &World<G>) -> Result<(), RecordError> {
        if world.state().poses.len() != self.bodies {
            let what = format!("{} bodies, the log has {}", world.state().poses.len(), self.bodies);
            return Err(RecordError::Mismatch { path: self.path().to_path_buf(), what });
        }
        self.frame.take(world);
        self.frame.put(&mut self.frames);
        self.count += 1;
        self.next += 1;
        if self.count >= CHUNK_FRAMES || self.frames.len() >= CHUNK_BYTES {
            self.mark(world)?;
        }
        Ok(())
    }
    /// Writes all frames so far and a mark behind them.
    pub fn mark<G: Geometry>(&mut self, world: &World<G>) -> Result<(), RecordError> {
        if self.count == 0 {
            return Ok(());
        }
        let (first, last) = (self.next - self.count, self.next - 1);
        self.frames[..NUMBER].copy_from_slice(&first.to_le_bytes());
        self.frames[NUMBER..FRAMES_HEAD].copy_from_slice(&self.count.to_le_bytes());
        let mut frames = std::mem::take(&mut self.frames);
        let written = self.chunk(FRAMES, &frames);
        frames.truncate(FRAMES_HEAD);
        self.frames = frames;
        written?;
        self.count = 0;
        let mut mark = Vec::new();
        mark.put_u64(last);
        mark.extend_from_slice(&world.snapshot().to_bytes());
        self.chunk(MARK, &mark)?;
        self.flush()
    }
    /// Writes what is left and the ending, and gives the file its name.
    pub fn finish<G: Geometry>(mut self, world: &World<G>, ending: Ending) -> Result<PathBuf, RecordError> {
        self.mark(world)?;
        let (code, text) = ending.code();
        let mut done = Vec::new();
        done.put_u64(self.next.saturating_sub(1));
        done.put_u32(code);
        done.put_bytes(text.as_bytes());
        self.chunk(DONE, &done)?;
        self.file.commit()
    }
    fn chunk(&mut self, tag: [u8; 4], payload: &[u8]) -> Result<(), RecordError> {
        let length = (payload.len() as u64).to_le_bytes();
        let mut sum = Checksum::new();
        for part in [&tag[..], &length, payload] {
            sum.feed(part);
            self.write(part)?;
        }
        self.write(&sum.value().to_le_bytes())
    }
    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        self.file.write_all(bytes).map_err(RecordError::io("write", self.file.path()))
    }
    fn flush(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(RecordError::io("write", self.file.path()))
    }
}
