//! MCAP, the container of robot logs (<https://mcap.dev/spec>), version 0: plain records, no chunks, no compression.
//!
//! Two channels of JSON messages, one each per frame, and the scene as an attachment:
//!
//! | topic | schema | message |
//! |---|---|---|
//! | `/tf` | `foxglove.FrameTransforms` | the pose of every body in the frame `world`; the plane is z = 0 |
//! | `/energy` | `carom.Energy` | kinetic, potential and elastic energy \[J\], contacts |
//!
//! A record is an opcode (1 byte), the length of its content (8) and the content; numbers are little-endian, a text is its length (4)
//! and its bytes. A message index is left out: readers that need one make it.

use crate::checksum::Checksum;
use crate::error::RecordError;
use crate::replay::Log;
use crate::trajectory::Frame;
use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

/// First and last bytes of a file.
const MAGIC: [u8; 8] = *b"\x89MCAP0\r\n";
/// Opcodes.
const HEADER: u8 = 0x01;
const FOOTER: u8 = 0x02;
const SCHEMA: u8 = 0x03;
const CHANNEL: u8 = 0x04;
const MESSAGE: u8 = 0x05;
const ATTACHMENT: u8 = 0x09;
const DATA_END: u8 = 0x0f;
/// Nanoseconds of a second.
const NANO: f64 = 1e9;
/// Number of the channel of poses, and of its schema; that of energies.
const POSES: u16 = 1;
const ENERGY: u16 = 2;

/// What a message of poses looks like (Foxglove's own schema, the keys used here).
const POSES_SCHEMA: &str = r#"{"title":"foxglove.FrameTransforms","type":"object","properties":{"transforms":{"type":"array","items":{"type":"object","properties":{"timestamp":{"type":"object","title":"time","properties":{"sec":{"type":"integer","minimum":0},"nsec":{"type":"integer","minimum":0,"maximum":999999999}}},"parent_frame_id":{"type":"string"},"child_frame_id":{"type":"string"},"translation":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"},"z":{"type":"number"}}},"rotation":{"type":"object","properties":{"x":{"type":"number"},"y":{"type":"number"},"z":{"type":"number"},"w":{"type":"number"}}}}}}}}"#;
/// What a message of energies looks like.
const ENERGY_SCHEMA: &str = r#"{"title":"carom.Energy","type":"object","properties":{"time":{"type":"number"},"kinetic":{"type":"number"},"potential":{"type":"number"},"elastic":{"type":"number"},"total":{"type":"number"},"contacts":{"type":"integer"}}}"#;

/// The content of a record.
#[derive(Default)]
struct Content(Vec<u8>);

impl Content {
    fn u16(mut self, x: u16) -> Self {
        self.0.extend_from_slice(&x.to_le_bytes());
        self
    }
    fn u32(mut self, x: u32) -> Self {
        self.0.extend_from_slice(&x.to_le_bytes());
        self
    }
    fn u64(mut self, x: u64) -> Self {
        self.0.extend_from_slice(&x.to_le_bytes());
        self
    }
    fn text(mut self, x: &str) -> Self {
        self.0.extend_from_slice(&(x.len() as u32).to_le_bytes());
        self.0.extend_from_slice(x.as_bytes());
        self
    }
    fn raw(mut self, x: &[u8]) -> Self {
        self.0.extend_from_slice(x);
        self
    }
}

/// Writes one record after another.
struct Records<'a, W: Write> {
    out: &'a mut W,
    path: &'a Path,
}

impl<W: Write> Records<'_, W> {
    fn raw(&mut self, bytes: &[u8]) -> Result<(), RecordError> {
        self.out.write_all(bytes).map_err(RecordError::io("write", self.path))
    }
    fn put(&mut self, opcode: u8, content: &Content) -> Result<(), RecordError> {
        self.raw(&[opcode])?;
        self.raw(&(content.0.len() as u64).to_le_bytes())?;
        self.raw(&content.0)
    }
}

/// Writes a log as MCAP.
pub(crate) fn write(log: &Log, out: &mut impl Write, path: &Path) -> Result<(), RecordError> {
    let header = log.header();
    let mut records = Records { out, path };
    records.raw(&MAGIC)?;
    records.put(HEADER, &Content::default().text("").text(concat!("carom ", env!("CARGO_PKG_VERSION"))))?;
    for (id, name, schema, topic) in
        [(POSES, "foxglove.FrameTransforms", POSES_SCHEMA, "/tf"), (ENERGY, "carom.Energy", ENERGY_SCHEMA, "/energy")]
    {
        records.put(SCHEMA, &Content::default().u16(id).text(name).text("jsonschema").text(schema))?;
        // The last is the channel's own metadata: an empty map.
        records.put(CHANNEL, &Content::default().u16(id).u16(id).text(topic).text("json").u32(0))?;
    }
    let scene = header.scene.as_bytes();
    let attachment = Content::default().u64(0).u64(0).text("scene.toml").text("application/toml").u64(scene.len() as u64).raw(scene);
    let mut sum = Checksum::new();
    sum.feed(&attachment.0);
    records.put(ATTACHMENT, &attachment.u32(sum.value()))?;
    let names: Vec<String> = header.bodies.iter().map(|name| quoted(name)).collect();
    let mut text = String::new();
    let mut sequence: u32 = 0;
    log.visit(|frame| {
        let nanos = (frame.time.max(0.0) * NANO).round() as u64;
        for channel in [POSES, ENERGY] {
            text.clear();
            if channel == POSES {
                poses(frame, &names, header.coords(), nanos, &mut text)
            } else {
                energy(frame, &mut text)
            }
            records.put(MESSAGE, &Content::default().u16(channel).u32(sequence).u64(nanos).u64(nanos).raw(text.as_bytes()))?;
        }
        sequence = sequence.wrapping_add(1);
        Ok::<(), RecordError>(())
    })?;
    // Zeros: no checksum of the data, no summary.
    records.put(DATA_END, &Content::default().u32(0))?;
    records.put(FOOTER, &Content::default().u64(0).u64(0).u32(0))?;
    records.raw(&MAGIC)
}

/// The poses of all bodies as JSON; writing to a string cannot fail, here and below.
fn poses(frame: &Frame, names: &[String], coords: usize, nanos: u64, out: &mut String) {
    const SECOND: u64 = 1_000_000_000;
    let (sec, nsec) = (nanos / SECOND, nanos % SECOND);
    out.push_str("{\"transforms\":[");
    for (k, (name, q)) in names.iter().zip(frame.q.chunks_exact(coords)).enumerate() {
        let (z, [w, i, j, l]) = match q {
            [_, _, z, turn @ ..] if turn.len() == 4 => (*z, [turn[0], turn[1], turn[2], turn[3]]),
            [_, _, angle, ..] => (0.0, [(0.5 * angle).cos(), 0.0, 0.0, (0.5 * angle).sin()]),
            _ => (0.0, [1.0, 0.0, 0.0, 0.0]),
        };
        let _ = write!(
            out,
            "{}{{\"timestamp\":{{\"sec\":{sec},\"nsec\":{nsec}}},\"parent_frame_id\":\"world\",\"child_frame_id\":{name},\
             \"translation\":{{\"x\":{},\"y\":{},\"z\":{z}}},\"rotation\":{{\"x\":{i},\"y\":{j},\"z\":{l},\"w\":{w}}}}}",
            if k > 0 { "," } else { "" },
            q[0],
            q[1],
        );
    }
    out.push_str("]}");
}

/// The energies as JSON.
fn energy(frame: &Frame, out: &mut String) {
    let [kinetic, potential, elastic] = frame.energy;
    let _ = write!(
        out,
        "{{\"time\":{},\"kinetic\":{kinetic},\"potential\":{potential},\"elastic\":{elastic},\"total\":{},\"contacts\":{}}}",
        frame.time,
        frame.total_energy(),
        frame.contacts
    );
}

/// A text as JSON.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            c if c.is_control() => {
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        assert_eq!(quoted("a \"b\" \\ \n"), "\"a \\\"b\\\" \\\\ \\u000a\"");
    }

    #[test]
    fn poses_of_the_plane_lie_in_it() {
        let frame = Frame { q: vec![1.0, 2.0, std::f64::consts::PI], ..Frame::default() };
        let mut text = String::new();
        poses(&frame, &["\"a\"".to_string()], 3, 1_500_000_000, &mut text);
        for part in ["\"sec\":1,\"nsec\":500000000", "\"x\":1,\"y\":2,\"z\":0", "\"z\":1,\"w\":0.0000"] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }
}
