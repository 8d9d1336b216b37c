//! What hugectl does to the system besides starting a program: one seam, so
//! that a test can put a kernel of its own there.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::time::Duration;

use hugetools_model::{Bytes, PageSize};

/// What the page cache has of some parts of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cached {
    /// On huge pages.
    pub huge: Bytes,
    /// Mapped by other processes, too.
    pub shared: Bytes,
}

/// Parts of a file, and the size of the huge pages that they are to lie on.
#[derive(Debug, Clone, Copy)]
pub struct Piece<'a> {
    /// The file.
    pub file: &'a File,
    /// Its parts, in bytes.
    pub parts: &'a [Range<u64>],
    /// The size of a huge page.
    pub size: PageSize,
}

/// The page cache and the clock.
pub trait Effects {
    /// Maps parts of a file as huge pages of the page cache want to be mapped,
    /// touches them, and says what came. What is not in memory is read, into
    /// huge pages where the file system has them.
    ///
    /// # Errors
    /// When the parts cannot be mapped or read; `TimedOut` after `limit`.
    fn look(&mut self, piece: Piece<'_>, limit: Duration) -> io::Result<Cached>;

    /// Looks, but has the kernel put huge pages together where it did not read
    /// them so: on a file system in memory, and where others use the file.
    ///
    /// # Errors
    /// As for [`Effects::look`].
    fn fill(&mut self, piece: Piece<'_>, limit: Duration) -> io::Result<Cached>;

    /// Takes parts of a file out of memory, as far as nobody uses them; what
    /// is to be written is written first, unless that takes too long.
    ///
    /// # Errors
    /// Those of writing; `TimedOut` after `limit`.
    fn let_go(&mut self, piece: Piece<'_>, limit: Duration) -> io::Result<()>;

    /// The time since some moment, which only grows.
    fn now(&self) -> Duration;

    /// Waits.
    fn pause(&mut self, time: Duration);
}
