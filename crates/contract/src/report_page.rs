//! The page that `hugectl --report` shares with the program, followed by room for a report. It is a
//! memfd of hugectl, which waits for the program.
//!
//! hugectl samples the program's memory and stores the peak in the page; the library adds the peak
//! to its report. The library stores the state of the program's requirements, and at exit its
//! report. hugectl prints this report; without it or after a fatal signal, its
//! own last sample.

pub mod demands;

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use self::demands::Demands;
use crate::report::Peak;
use crate::segment::Huge;

/// Length of the page in bytes, a multiple of the base page size.
pub const HEAD_LEN: usize = 64 << 10;

/// Maximum length of a report in bytes.
pub const TEXT_LEN: usize = 1 << 20;

/// Length of the file in bytes.
pub const LEN: usize = HEAD_LEN + TEXT_LEN;

/// The first [`HEAD_LEN`] bytes of the file.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Page {
    /// Nonzero if hugectl's child could not execute the program and has printed why.
    pub unstarted: AtomicU32,
    /// Number of programs that have mapped the page; the process executes one after the other.
    pub images: AtomicU32,
    /// The length of the report in bytes; 0 for none.
    text: AtomicU32,
    /// The peak so far; see [`Peak`].
    resident: AtomicU64,
    at: AtomicU64,
    huge: [(AtomicU64, AtomicU64); 4],
    /// The requirements on the program.
    pub demands: Demands,
}

const _: () = assert!(size_of::<Page>() <= HEAD_LEN);

impl Page {
    /// Publishes a report of `len` bytes.
    pub fn publish(&self, len: u32) {
        self.text.store(len, Ordering::Release);
    }

    /// The length of the report; 0 for none.
    pub fn text_len(&self) -> usize {
        self.text.load(Ordering::Acquire) as usize
    }

    /// Returns the peak so far.
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

    /// Stores a new peak.
    pub fn set_peak(&self, peak: &Peak) {
        self.resident.store(peak.resident, Ordering::Relaxed);
        self.at.store(peak.at, Ordering::Relaxed);
        for (huge, (page_size, bytes)) in peak.huge.iter().zip(&self.huge) {
            page_size.store(huge.page_size, Ordering::Relaxed);
            bytes.store(huge.bytes, Ordering::Relaxed);
        }
    }
}
