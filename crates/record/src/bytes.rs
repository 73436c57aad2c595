//! Little-endian numbers and texts in a byte buffer.

/// Appends numbers and texts.
pub(crate) trait Put {
    /// A whole number of 32 bits.
    fn put_u32(&mut self, value: u32);
    /// A whole number of 64 bits.
    fn put_u64(&mut self, value: u64);
    /// A real number, bit for bit.
    fn put_f64(&mut self, value: f64);
    /// Bytes with their count before them.
    fn put_bytes(&mut self, bytes: &[u8]);
}

impl Put for Vec<u8> {
    fn put_u32(&mut self, value: u32) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_u64(&mut self, value: u64) {
        self.extend_from_slice(&value.to_le_bytes());
    }
    fn put_f64(&mut self, value: f64) {
        self.put_u64(value.to_bits());
    }
    fn put_bytes(&mut self, bytes: &[u8]) {
        self.put_u64(bytes.len() as u64);
        self.extend_from_slice(bytes);
    }
}

/// Takes numbers and texts off the front; `None` where the bytes do not suffice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Take<'a>(pub &'a [u8]);

impl<'a> Take<'a> {
    /// So many bytes.
    pub fn raw(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(head)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.raw(N).and_then(|b| b.try_into().ok())
    }
    /// A whole number of 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }
    /// A whole number of 64 bits.
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
    /// A real number, bit for bit.
    pub fn f64(&mut self) -> Option<f64> {
        self.u64().map(f64::from_bits)
    }
    /// Bytes with their count before them.
    pub fn bytes(&mut self) -> Option<&'a [u8]> {
        let count = usize::try_from(self.u64()?).ok()?;
        self.raw(count)
    }
    /// A text with its length before it.
    pub fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }
}
