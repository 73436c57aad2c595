//! Logs read back: header, frames, ending, and the way to go on from the last mark.

use crate::atomic::{AtomicFile, partial_path};
use crate::bytes::Take;
use crate::checksum::Checksum;
use crate::error::RecordError;
use crate::trajectory::{
    CHUNK_FRAME, CHUNK_START, DONE, Ending, FRAMES, FRAMES_HEAD, Frame, HEAD, Header, LogWriter, MAGIC, MARK, NUMBER, START, VERSION,
};
use carom_dynamics::{PHYSICS, Snapshot, SnapshotError, World};
use carom_geometry::Geometry;
use carom_math::Planar;
use std::cell::RefCell;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes of a tag.
const TAG: usize = 4;
/// Bytes copied at a time.
const PIECE: usize = 1 << 16;

/// Frames of one chunk of the file.
#[derive(Clone, Copy, Debug)]
struct Chunk {
    /// Byte at which its first frame starts.
    offset: u64,
    /// Frames before it in the log.
    before: u64,
    /// Its frames.
    count: u64,
}

/// The last mark of the file.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// Steps taken when it was set.
    step: u64,
    /// Byte at which its snapshot starts, and its length.
    offset: u64,
    length: u64,
    /// First byte behind the mark's chunk.
    end: u64,
}

/// A log on disk, whole or as far as it was written.
#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    header: Header,
    chunks: Vec<Chunk>,
    frames: u64,
    mark: Option<Mark>,
    ending: Ending,
    /// First byte behind the header.
    body: u64,
    /// First byte behind the last whole chunk.
    sound: u64,
    file: RefCell<BufReader<File>>,
}

/// A chunk as it stands in the file.
struct Raw {
    tag: [u8; TAG],
    payload: Vec<u8>,
}

/// Reads the chunk at the reader's place; `None` where the file ends within it or its checksum is wrong.
fn chunk(file: &mut impl Read, left: u64) -> std::io::Result<Option<Raw>> {
    let mut start = [0; CHUNK_START as usize];
    if left < CHUNK_FRAME {
        return Ok(None);
    }
    file.read_exact(&mut start)?;
    let mut take = Take(&start);
    let tag: [u8; TAG] = take.raw(TAG).and_then(|t| t.try_into().ok()).unwrap_or_default();
    let length = take.u64().unwrap_or(u64::MAX);
    // Compared with what the file holds before anything is allocated: a damaged length is just a damaged chunk.
    if length > left - CHUNK_FRAME {
        return Ok(None);
    }
    let mut payload = vec![0; length as usize];
    file.read_exact(&mut payload)?;
    let mut sum = [0; TAG];
    file.read_exact(&mut sum)?;
    let mut expected = Checksum::new();
    expected.feed(&start);
    expected.feed(&payload);
    Ok((expected.value() == u32::from_le_bytes(sum)).then_some(Raw { tag, payload }))
}

/// The length a chunk's head announces, itself included; more than is left where not even the head is whole.
fn announced(file: &mut impl Read, left: u64) -> std::io::Result<u64> {
    let mut start = [0; CHUNK_START as usize];
    if left < CHUNK_FRAME {
        return Ok(u64::MAX);
    }
    file.read_exact(&mut start)?;
    Ok(Take(&start[TAG..]).u64().map_or(u64::MAX, |length| length.saturating_add(CHUNK_FRAME)))
}

impl Log {
    /// Opens a log and checks every chunk; a damaged or missing tail is reported by [`ending`](Log::ending), the rest is there.
    ///
    /// # Errors
    /// The file cannot be read, is no log, is of a newer version, or its header is incomplete or damaged.
    pub fn open(path: &Path) -> Result<Self, RecordError> {
        let io = |source| RecordError::Io { action: "read", path: path.to_path_buf(), source };
        let file = File::open(path).map_err(io)?;
        let size = file.metadata().map_err(io)?.len();
        let mut file = BufReader::new(file);
        let mut start = [0; START as usize];
        let there = size.min(START) as usize;
        file.read_exact(&mut start[..there]).map_err(io)?;
        if there == 0 || !MAGIC.starts_with(&start[..there.min(MAGIC.len())]) {
            return Err(RecordError::NotALog { path: path.to_path_buf() });
        }
        if size < START {
            return Err(RecordError::Truncated { path: path.to_path_buf(), offset: size, what: "the header" });
        }
        let found = Take(&start[MAGIC.len()..]).u32().unwrap_or(0);
        if found != VERSION {
            return Err(RecordError::Version { path: path.to_path_buf(), found, known: VERSION });
        }
        let damaged = |what: &str| RecordError::Corrupt { path: path.to_path_buf(), offset: START, what: what.to_string() };
        let header = match chunk(&mut file, size - START).map_err(io)? {
            Some(raw) if raw.tag == HEAD => Header::from_bytes(&raw.payload).map_err(damaged)?,
            Some(_) => return Err(damaged("the header does not come first")),
            None if size - START < CHUNK_FRAME => {
                return Err(RecordError::Truncated { path: path.to_path_buf(), offset: size, what: "the header" });
            }
            None => return Err(damaged("the header is cut short or altered")),
        };
        let body = file.stream_position().map_err(io)?;
        let file = RefCell::new(file);
        let mut log = Log {
            path: path.to_path_buf(),
            header,
            chunks: Vec::new(),
            frames: 0,
            mark: None,
            ending: Ending::CutOff,
            body,
            sound: body,
            file,
        };
        log.scan(size).map_err(io)?;
        Ok(log)
    }

    /// Lists the chunks behind the header up to the first that is not whole.
    fn scan(&mut self, size: u64) -> std::io::Result<()> {
        let mut file = self.file.borrow_mut();
        let mut offset = self.body;
        while offset < size {
            let Some(raw) = chunk(&mut *file, size - offset)? else {
                // A chunk that would reach beyond the file was being written; one that would not was altered.
                file.seek(SeekFrom::Start(offset))?;
                let reaches = announced(&mut *file, size - offset)?;
                self.ending = if reaches > size - offset { Ending::CutOff } else { Ending::Damaged { offset } };
                return Ok(());
            };
            let end = offset + CHUNK_FRAME + raw.payload.len() as u64;
            let payload = offset + CHUNK_START;
            let mut take = Take(&raw.payload);
            let step = take.u64();
            let sound = match (raw.tag, step) {
                (FRAMES, Some(first)) => {
                    let count = take.u64().unwrap_or(0);
                    let fits = count.checked_mul(self.header.frame_bytes() as u64) == Some(take.0.len() as u64);
                    if fits && first == self.frames {
                        self.chunks.push(Chunk { offset: payload + FRAMES_HEAD as u64, before: first, count });
                        self.frames += count;
                    }
                    fits && first + count == self.frames
                }
                (MARK, Some(step)) => {
                    self.mark = Some(Mark { step, offset: payload + NUMBER as u64, length: take.0.len() as u64, end });
                    step + 1 == self.frames
                }
                (DONE, Some(_)) => {
                    let ending = take.u32().zip(take.text()).and_then(|(code, text)| Ending::of(code, text));
                    let known = ending.is_some();
                    self.ending = ending.unwrap_or(Ending::Damaged { offset });
                    known
                }
                // A later minor addition: its checksum is right, its meaning is not needed.
                (_, _) => ![FRAMES, MARK, DONE].contains(&raw.tag),
            };
            if !sound {
                self.ending = Ending::Damaged { offset };
                return Ok(());
            }
            offset = end;
            self.sound = end;
        }
        Ok(())
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }
    /// What the log says of its run.
    pub fn header(&self) -> &Header {
        &self.header
    }
    /// How the run ended.
    pub fn ending(&self) -> &Ending {
        &self.ending
    }
    /// Whole frames: the start and one per step.
    pub fn len(&self) -> u64 {
        self.frames
    }
    /// Whether there is no frame at all.
    pub fn is_empty(&self) -> bool {
        self.frames == 0
    }
    /// Steps taken at the last mark, from which the run can go on.
    pub fn resumable_at(&self) -> Option<u64> {
        self.mark.map(|m| m.step)
    }
    /// The frame after so many steps; 0 is the start.
    pub fn frame(&self, step: u64) -> Result<Frame, RecordError> {
        let missing = || RecordError::Truncated { path: self.path.clone(), offset: 0, what: "that frame" };
        let place = self.chunks.partition_point(|c| c.before + c.count <= step);
        let chunk = self.chunks.get(place).ok_or_else(missing)?;
        let size = self.header.frame_bytes();
        let mut raw = vec![0; size];
        self.read_at(chunk.offset + (step - chunk.before) * size as u64, &mut raw)?;
        let mut frame = Frame::default();
        frame.read(&mut Take(&raw), &self.header).ok_or_else(missing)?;
        Ok(frame)
    }
    /// Visits every frame in order; stops at the first error.
    pub fn visit<E: From<RecordError>>(&self, mut visitor: impl FnMut(&Frame) -> Result<(), E>) -> Result<(), E> {
        let size = self.header.frame_bytes();
        let mut raw = vec![0; size];
        let mut frame = Frame::default();
        for chunk in &self.chunks {
            for index in 0..chunk.count {
                let offset = chunk.offset + index * size as u64;
                self.read_at(offset, &mut raw)?;
                if frame.read(&mut Take(&raw), &self.header).is_none() {
                    return Err(RecordError::Truncated { path: self.path.clone(), offset, what: "a frame" }.into());
                }
                visitor(&frame)?;
            }
        }
        Ok(())
    }
    /// All frames in memory.
    pub fn trajectory(&self) -> Result<Trajectory, RecordError> {
        let mut out = Trajectory {
            header: self.header.clone(),
            time: Vec::new(),
            energy: Vec::new(),
            contacts: Vec::new(),
            q: Vec::new(),
            v: Vec::new(),
        };
        self.visit(|frame| {
            out.time.push(frame.time);
            out.energy.push(frame.total_energy());
            out.contacts.push(frame.contacts);
            out.q.extend_from_slice(&frame.q);
            out.v.extend_from_slice(&frame.v);
            Ok::<(), RecordError>(())
        })?;
        Ok(out)
    }
    /// Takes a world, built from the log's scene, to the last mark; returns the steps taken there. From there the run goes on to the same bits.
    ///
    /// # Errors
    /// The world is of another model, the log was written by another version of the physics, or it holds no mark.
    pub fn restore<G: Geometry>(&self, world: &mut World<G>) -> Result<u64, RecordError> {
        let mark = self.mark.ok_or_else(|| RecordError::NoMark { path: self.path.clone() })?;
        let mismatch = |what: String| RecordError::Mismatch { path: self.path.clone(), what };
        let model = world.model();
        if self.header.dimension != G::DIM {
            return Err(mismatch(format!("dimension {}, the world has {}", self.header.dimension, G::DIM)));
        }
        if self.header.step.to_bits() != model.step.to_bits() {
            return Err(mismatch(format!("step {} s, the world has {} s", self.header.step, model.step)));
        }
        if !self.header.bodies.iter().map(String::as_str).eq(model.bodies.iter().map(|b| b.name.as_str())) {
            return Err(mismatch("other bodies".to_string()));
        }
        let mut raw = vec![0; mark.length as usize];
        self.read_at(mark.offset, &mut raw)?;
        let snapshot = Snapshot::<G>::from_bytes(&raw).map_err(|error| self.refused(&mark, &error))?;
        world.restore(&snapshot).map_err(|error| mismatch(error.to_string()))?;
        Ok(mark.step)
    }
    /// Why a mark is no snapshot.
    fn refused(&self, mark: &Mark, error: &SnapshotError) -> RecordError {
        let path = self.path.clone();
        match error {
            SnapshotError::Physics { found } => RecordError::Physics { path, found: *found, known: PHYSICS },
            _ => RecordError::Corrupt { path, offset: mark.offset, what: error.to_string() },
        }
    }
    /// Opens a log at `path` (it may be this one's own) that begins with this one up to its last mark; the next frame recorded is the
    /// one after it.
    ///
    /// # Errors
    /// The log holds no mark, or one of another version of the physics, or a file cannot be read or written.
    pub fn continue_into(&self, path: &Path, steps_wanted: u64) -> Result<LogWriter, RecordError> {
        let mark = self.mark.ok_or_else(|| RecordError::NoMark { path: self.path.clone() })?;
        let mut word = [0; NUMBER];
        self.read_at(mark.offset, &mut word[..NUMBER.min(mark.length as usize)])?;
        if let Some(found) = Snapshot::<Planar>::physics(&word).filter(|found| *found != PHYSICS) {
            return Err(self.refused(&mark, &SnapshotError::Physics { found }));
        }
        let mut header = self.header.clone();
        header.steps_wanted = steps_wanted;
        let part = partial_path(path);
        let in_place = part.canonicalize().ok().zip(self.path.canonicalize().ok()).is_some_and(|(a, b)| a == b);
        if in_place {
            return LogWriter::reopened(path, &header, mark.end, mark.step);
        }
        let mut writer = LogWriter::create(path, &header)?;
        self.pieces(self.body, mark.end, |piece| writer.write(piece))?;
        writer.continue_after(mark.step)?;
        Ok(writer)
    }
    /// Writes the whole chunks of this log to another file.
    pub(crate) fn copy(&self, out: &mut AtomicFile) -> Result<(), RecordError> {
        self.pieces(0, self.sound, |piece| out.write_all(piece).map_err(RecordError::io("write", out.path())))
    }
    fn pieces(&self, start: u64, end: u64, mut write: impl FnMut(&[u8]) -> Result<(), RecordError>) -> Result<(), RecordError> {
        let mut offset = start;
        let mut piece = vec![0; PIECE];
        while offset < end {
            let size = (end - offset).min(PIECE as u64) as usize;
            self.read_at(offset, &mut piece[..size])?;
            write(&piece[..size])?;
            offset += size as u64;
        }
        Ok(())
    }
    fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), RecordError> {
        let mut file = self.file.borrow_mut();
        let now = file.stream_position();
        let read = match now {
            // Frames follow one another: no seek, so that the buffer is used.
            Ok(place) if place == offset => file.read_exact(out),
            _ => file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(out)),
        };
        read.map_err(RecordError::io("read", &self.path))
    }
}

/// All frames of a log in memory, as flat arrays in the order (frame, body, component).
#[derive(Clone, Debug, PartialEq)]
pub struct Trajectory {
    /// What the log says of its run.
    pub header: Header,
    /// Time of each frame \[s\].
    pub time: Vec<f64>,
    /// Kinetic + potential + elastic energy of each frame \[J\].
    pub energy: Vec<f64>,
    /// Contacts of each frame.
    pub contacts: Vec<u64>,
    /// Coordinates.
    pub q: Vec<f64>,
    /// Velocities.
    pub v: Vec<f64>,
}

impl Trajectory {
    /// Frames.
    pub fn len(&self) -> usize {
        self.time.len()
    }
    /// Whether there is no frame at all.
    pub fn is_empty(&self) -> bool {
        self.time.is_empty()
    }
    /// Coordinates of a body in a frame; `None` beyond either.
    pub fn pose(&self, frame: usize, body: usize) -> Option<&[f64]> {
        slice(&self.q, frame, body, self.header.bodies.len(), self.header.coords())
    }
    /// Velocity of a body in a frame; `None` beyond either.
    pub fn twist(&self, frame: usize, body: usize) -> Option<&[f64]> {
        slice(&self.v, frame, body, self.header.bodies.len(), self.header.dof())
    }
}

fn slice(numbers: &[f64], frame: usize, body: usize, bodies: usize, each: usize) -> Option<&[f64]> {
    if body >= bodies {
        return None;
    }
    let start = (frame * bodies + body) * each;
    numbers.get(start..start + each)
}
