//! The System V segments that this process has made.

use super::born::Born;

/// So many are known at once; what is more is taken for somebody else's.
pub const PLACES: usize = 128;

/// What a segment is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Huge pages of this size, as hugectl was asked to have it.
    Huge(usize),
    /// Huge pages, as the program asked itself.
    HugeByItself,
    /// Ordinary memory.
    Ordinary,
}

/// A segment of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The number that the program knows.
    pub id: i32,
    /// The number that the kernel knows: another one where the segment was
    /// replaced by one on ordinary memory.
    pub now: i32,
    /// What it is on.
    pub on: On,
    /// Whether it has no key, so that only those find it who were told.
    pub is_private: bool,
    /// When and where it was made.
    pub born: Born,
    /// The process that has made it.
    pub(super) creator: u32,
    pub(super) used: bool,
}

impl Segment {
    /// All zero: a table of them takes no room in the library's file, nor between the
    /// data that each start writes to.
    pub(super) const UNUSED: Segment = Segment {
        id: 0,
        now: 0,
        on: On::Huge(0),
        is_private: false,
        born: Born::NEVER,
        creator: 0,
        used: false,
    };

    pub(super) fn is_used(&self) -> bool {
        self.used
    }
}
