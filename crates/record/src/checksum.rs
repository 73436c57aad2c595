//! CRC-32 (the polynomial of zip and PNG): guards the chunks of a log and the entries of an archive.

/// Reflected polynomial x^32 + x^26 + x^23 + ... + 1.
const POLYNOMIAL: u32 = 0xedb8_8320;
/// Entries of the table: one per byte value.
const ENTRIES: usize = 256;
/// Bits of a byte.
const BITS: u32 = 8;

const TABLE: [u32; ENTRIES] = table();

const fn table() -> [u32; ENTRIES] {
    let mut table = [0; ENTRIES];
    let mut byte = 0;
    while byte < ENTRIES {
        let mut value = byte as u32;
        let mut bit = 0;
        while bit < BITS {
            value = if value & 1 == 1 { (value >> 1) ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
}

/// A checksum that grows with the bytes fed to it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checksum(u32);

impl Checksum {
    /// Of nothing yet.
    pub fn new() -> Self {
        Checksum(u32::MAX)
    }
    /// Feeds bytes.
    pub fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 >> BITS) ^ TABLE[((self.0 ^ u32::from(*byte)) & (ENTRIES as u32 - 1)) as usize];
        }
    }
    /// The checksum of everything fed.
    pub fn value(self) -> u32 {
        !self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_check_value_comes_out_whole_or_in_parts() {
        let mut whole = Checksum::new();
        whole.feed(b"123456789");
        assert_eq!(whole.value(), 0xcbf4_3926);
        let mut parts = Checksum::new();
        parts.feed(b"1234");
        parts.feed(b"56789");
        assert_eq!(parts.value(), whole.value());
        let mut other = Checksum::new();
        other.feed(b"123456788");
        assert_ne!(other.value(), whole.value());
    }
}
