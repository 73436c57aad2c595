//! Where the numbers of a quantity stand among all slots.

/// Consecutive slots of one quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(super) at: u32,
    pub(super) len: u32,
}

impl Block {
    /// No slots yet.
    pub const NOWHERE: Block = Block { at: 0, len: 0 };

    /// Number of slots.
    #[inline]
    pub fn len(self) -> usize {
        self.len as usize
    }
    /// Slots from `first` on, `len` of them.
    #[inline]
    pub fn part(self, first: usize, len: usize) -> Block {
        debug_assert!(first + len <= self.len(), "a part lies inside its block");
        Block { at: self.at + first as u32, len: len as u32 }
    }
    /// Where the slots stand.
    #[inline]
    pub fn range(self) -> std::ops::Range<usize> {
        self.at as usize..(self.at + self.len) as usize
    }
    /// Slots from a place on.
    #[inline]
    pub fn at(at: usize, len: usize) -> Block {
        Block { at: at as u32, len: len as u32 }
    }
    /// Whether it lies inside another.
    #[inline]
    pub(super) fn within(self, other: Block) -> bool {
        self.at >= other.at && self.at + self.len <= other.at + other.len
    }
}
