//! The page that `hugectl --report` shares with the program it has started, with room for
//! a report behind it. It is a memory file of hugectl's, which waits for the program.
//!
//! hugectl keeps the peak that it has seen current; the library adds it to its report. The
//! library keeps current what is required of the program, and leaves its report at the
//! end; hugectl prints it, or what it saw last where there is none.

pub mod demands;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use self::demands::Demands;
use crate::report::Peak;
use crate::segment::Huge;

/// The bytes of the page, in whole pages of any machine.
pub const HEAD_LEN: usize = 64 << 10;

/// The room for a report.
pub const TEXT_LEN: usize = 1 << 20;

/// The bytes of both.
pub const LEN: usize = HEAD_LEN + TEXT_LEN;

/// The first [`HEAD_LEN`] bytes.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Page {
    /// Whether hugectl could not execute the program; its child has said why.
    pub unstarted: AtomicU32,
    /// How many programs of the process have mapped the page, one after the other.
    pub images: AtomicU32,
    /// The length of the report in bytes; 0 for none.
    text: AtomicU32,
    /// The most that was seen; see [`Peak`].
    resident: AtomicU64,
    at: AtomicU64,
    huge: [(AtomicU64, AtomicU64); 4],
    /// What is required of the program.
    pub demands: Demands,
}

const _: () = assert!(size_of::<Page>() <= HEAD_LEN);

impl Page {
    /// Leaves a report of so many bytes.
    pub fn leave(&self, len: u32) {
        self.text.store(len, Ordering::Release);
    }

    /// The length of the report; 0 for none.
    pub fn text_len(&self) -> usize {
        self.text.load(Ordering::Acquire) as usize
    }

    /// The most that was seen.
    pub fn peak(&self) -> Peak {
        let mut peak = Peak {
            resident: self.resident.load(Ordering::Relaxed),
            huge: [Huge::default(); 4],
            at: self.at.load(Ordering::Relaxed),
        };
        for (huge, (page_size, bytes)) in peak.huge.iter_mut().zip(&self.huge) {
            huge.page_size = page_size.load(Ordering::Relaxed);
            huge.bytes = bytes.load(Ordering::Relaxed);
        }
        peak
    }

    /// Notes what was seen.
    pub fn set_peak(&self, peak: &Peak) {
        self.resident.store(peak.resident, Ordering::Relaxed);
        self.at.store(peak.at, Ordering::Relaxed);
        for (huge, (page_size, bytes)) in peak.huge.iter().zip(&self.huge) {
            page_size.store(huge.page_size, Ordering::Relaxed);
            bytes.store(huge.bytes, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_noted_is_read() {
        let page = Page::default();
        assert_eq!((page.text_len(), page.peak()), (0, Peak::default()));
        page.leave(7);
        let mut peak = Peak {
            resident: 5 << 20,
            at: 77,
            ..Peak::default()
        };
        peak.huge[0] = Huge {
            page_size: 2 << 20,
            bytes: 4 << 20,
        };
        page.set_peak(&peak);
        assert_eq!((page.text_len(), page.peak()), (7, peak));
    }
}
