//! `mbind(2)`, as a program asks for it.
#![expect(unsafe_code, reason = "sets the policies of memory by address")]

use core::ops::Range;

use crate::sys::{self, Result};

/// What a program asks for, with its own mask.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The mode, with flags.
    pub mode: usize,
    /// Where the mask is; 0 for none.
    pub mask: usize,
    /// The mask's length in bits, as `mbind(2)` takes it.
    pub max: usize,
    /// `MPOL_MF_STRICT` and so on.
    pub flags: usize,
}

const MOVE: usize = 2;

impl Wanted {
    /// The call itself.
    ///
    /// # Errors
    /// Those of the kernel.
    ///
    /// # Safety
    /// As for [`sys::mbind`].
    pub unsafe fn apply(&self, range: &Range<usize>) -> Result<()> {
        let (start, len) = (range.start, range.len());
        // SAFETY: as the caller says.
        unsafe { sys::mbind(start, len, self.mode, self.mask, self.max, self.flags) }
    }

    /// The same for memory that was populated before the program touched it: what is
    /// elsewhere moves.
    ///
    /// # Errors
    /// Those of the kernel.
    ///
    /// # Safety
    /// As for [`sys::mbind`].
    pub unsafe fn apply_and_move(&self, range: &Range<usize>) -> Result<()> {
        let flags = self.flags | MOVE;
        // SAFETY: as the caller says.
        unsafe { Wanted { flags, ..*self }.apply(range) }
    }
}
