//! A zip archive, written without compression and large enough for any run (every entry carries 64-bit sizes), read with or without it.

use crate::bytes::{Put, Take};
use crate::checksum::Checksum;
use std::borrow::Cow;
use std::io::{self, Seek, SeekFrom, Write};

/// Signatures of the parts of an archive.
const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// Version 4.5 of the format knows 64-bit sizes.
const VERSION: u16 = 45;
/// Flag 11: names are UTF-8.
const UTF8: u16 = 1 << 11;
/// 1 January 1980, the earliest date: the same run gives the same bytes.
const DATE: u16 = 0x0021;
/// Marks a size that stands in the extra field.
const ELSEWHERE: u32 = u32::MAX;
/// Tag of the extra field with 64-bit sizes.
const EXTRA_64: u16 = 1;
/// Bytes of a 64-bit end record behind its own size field.
const END_64_REST: u64 = 44;
/// Place of the checksum within a local header.
const CHECKSUM_AT: u64 = 14;
/// Bytes of one size.
const SIZE: u16 = 8;

struct Entry {
    name: String,
    offset: u64,
    size: u64,
    sum: u32,
}

/// Writes entries one after another.
pub(crate) struct Archive<W: Write + Seek> {
    out: W,
    place: u64,
    entries: Vec<Entry>,
    sum: Checksum,
}

fn put_u16(out: &mut Vec<u8>, value: u16) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// What local and central headers share, from version to extra length.
fn common(out: &mut Vec<u8>, name: &str, sum: u32, extra: u16) {
    put_u16(out, VERSION);
    put_u16(out, UTF8);
    put_u16(out, 0); // stored
    put_u16(out, 0); // midnight
    put_u16(out, DATE);
    out.put_u32(sum);
    out.put_u32(ELSEWHERE);
    out.put_u32(ELSEWHERE);
    put_u16(out, name.len() as u16);
    put_u16(out, extra);
}

impl<W: Write + Seek> Archive<W> {
    /// An archive without entries, written from where `out` stands, which must be its start.
    pub fn new(out: W) -> Self {
        Archive { out, place: 0, entries: Vec::new(), sum: Checksum::new() }
    }
    /// Starts an entry of a known size; its bytes follow by [`bytes`](Archive::bytes).
    pub fn entry(&mut self, name: &str, size: u64) -> io::Result<()> {
        self.entries.push(Entry { name: name.to_string(), offset: self.place, size, sum: 0 });
        let mut head = Vec::new();
        head.put_u32(LOCAL);
        common(&mut head, name, 0, 2 * 2 + 2 * SIZE);
        head.extend_from_slice(name.as_bytes());
        put_u16(&mut head, EXTRA_64);
        put_u16(&mut head, 2 * SIZE);
        head.put_u64(size);
        head.put_u64(size);
        self.sum = Checksum::new();
        self.raw(&head)
    }
    /// Bytes of the current entry.
    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.sum.feed(bytes);
        self.raw(bytes)
    }
    /// Ends the current entry: its checksum goes back into its header.
    pub fn end_entry(&mut self) -> io::Result<()> {
        let Some(entry) = self.entries.last_mut() else { return Ok(()) };
        entry.sum = self.sum.value();
        self.out.seek(SeekFrom::Start(entry.offset + CHECKSUM_AT))?;
        self.out.write_all(&entry.sum.to_le_bytes())?;
        self.out.seek(SeekFrom::Start(self.place))?;
        Ok(())
    }
    /// Writes the list of entries.
    pub fn finish(mut self) -> io::Result<()> {
        let start = self.place;
        let entries = std::mem::take(&mut self.entries);
        for entry in &entries {
            let name = entry.name.as_str();
            let mut head = Vec::new();
            head.put_u32(CENTRAL);
            put_u16(&mut head, VERSION);
            common(&mut head, name, entry.sum, 2 * 2 + 3 * SIZE);
            put_u16(&mut head, 0); // comment
            put_u16(&mut head, 0); // disk
            put_u16(&mut head, 0); // attributes
            head.put_u32(0);
            head.put_u32(ELSEWHERE);
            head.extend_from_slice(name.as_bytes());
            put_u16(&mut head, EXTRA_64);
            put_u16(&mut head, 3 * SIZE);
            head.put_u64(entry.size);
            head.put_u64(entry.size);
            head.put_u64(entry.offset);
            self.raw(&head)?;
        }
        let (end, count) = (self.place, entries.len() as u64);
        let mut tail = Vec::new();
        tail.put_u32(END_64);
        tail.put_u64(END_64_REST);
        put_u16(&mut tail, VERSION);
        put_u16(&mut tail, VERSION);
        tail.put_u32(0);
        tail.put_u32(0);
        tail.put_u64(count);
        tail.put_u64(count);
        tail.put_u64(end - start);
        tail.put_u64(start);
        tail.put_u32(LOCATOR_64);
        tail.put_u32(0);
        tail.put_u64(end);
        tail.put_u32(1);
        tail.put_u32(END);
        put_u16(&mut tail, 0);
        put_u16(&mut tail, 0);
        put_u16(&mut tail, u16::MAX);
        put_u16(&mut tail, u16::MAX);
        tail.put_u32(ELSEWHERE);
        tail.put_u32(ELSEWHERE);
        put_u16(&mut tail, 0);
        self.raw(&tail)
    }
    fn raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.place += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

/// Entries of an archive: name and bytes.
pub(crate) type Entries<'a> = Vec<(String, Cow<'a, [u8]>)>;

/// How the bytes of an entry lie in the archive.
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// Most bytes of an entry once it is unpacked: a small file must not fill the memory.
const UNPACKED_MAX: usize = 1 << 32;

/// The entries of an archive, stored or deflated; says what is wrong with any other.
pub(crate) fn unpacked(bytes: &[u8]) -> Result<Entries<'_>, &'static str> {
    const CUT: &str = "the archive is cut short";
    /// Flag 3: sizes stand behind the data.
    const BEHIND: u16 = 1 << 3;
    let mut out = Vec::new();
    let mut take = Take(bytes);
    let u16 = |take: &mut Take<'_>| take.raw(2).map(|b| u16::from_le_bytes([b[0], b[1]]));
    while let Some(signature) = take.u32() {
        if signature != LOCAL {
            break;
        }
        let mut head = || {
            let (_, flags, method) = (u16(&mut take)?, u16(&mut take)?, u16(&mut take)?);
            let (_, _, _sum) = (u16(&mut take)?, u16(&mut take)?, take.u32()?);
            let (packed, size) = (take.u32()?, take.u32()?);
            let (name, extra) = (u16(&mut take)?, u16(&mut take)?);
            let name = String::from_utf8_lossy(take.raw(usize::from(name))?).into_owned();
            let mut extra = Take(take.raw(usize::from(extra))?);
            let (mut packed, mut size) = (u64::from(packed), u64::from(size));
            while let (Some(tag), Some(length)) = (u16(&mut extra), u16(&mut extra)) {
                let mut field = Take(extra.raw(usize::from(length))?);
                // The long sizes stand in this order, each only where its short one says so.
                if tag == EXTRA_64 && size == u64::from(ELSEWHERE) {
                    size = field.u64()?;
                }
                if tag == EXTRA_64 && packed == u64::from(ELSEWHERE) {
                    packed = field.u64()?;
                }
            }
            Some((flags, method, name, packed, size))
        };
        let (flags, method, name, packed, size) = head().ok_or(CUT)?;
        if flags & BEHIND != 0 || ![STORED, DEFLATED].contains(&method) {
            return Err("the archive is packed in a way that is not read here; write it with numpy.savez");
        }
        let data = usize::try_from(packed).ok().and_then(|packed| take.raw(packed)).ok_or(CUT)?;
        let data = if method == STORED {
            Cow::Borrowed(data)
        } else {
            let size = usize::try_from(size).ok().filter(|size| *size <= UNPACKED_MAX).ok_or("an entry of the archive is too large")?;
            let whole = miniz_oxide::inflate::decompress_to_vec_with_limit(data, size).map_err(|_| "the archive is damaged")?;
            Cow::Owned(whole)
        };
        out.push((name, data));
    }
    if out.is_empty() { Err("not an archive") } else { Ok(out) }
}
