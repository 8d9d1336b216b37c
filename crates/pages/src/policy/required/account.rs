//! Counts the bytes of a segment, and the bytes off the requested pages. Until memory is populated,
//! the machine's settings decide how it counts.

use core::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hugetools_contract::env::{Required, Share};
use hugetools_contract::segment::Segment;

use crate::config;
use crate::policy::{thp, unmet};
use crate::rt::message::{Amount, Level, say_once};
use crate::sys::{Errno, Result};

/// Bytes requested for one segment.
#[derive(Debug)]
pub struct Account {
    segment: Segment,
    all: AtomicU64,
    other: AtomicU64,
    said: AtomicBool,
}

/// Shared memory.
pub static SHM: Account = Account::of(Segment::Shm);
/// Private mappings of the program's own.
pub static ANON: Account = Account::of(Segment::Anon);
/// Stacks.
pub static STACK: Account = Account::of(Segment::Stack);

impl Account {
    const fn of(segment: Segment) -> Account {
        Account {
            segment,
            all: AtomicU64::new(0),
            other: AtomicU64::new(0),
            said: AtomicBool::new(false),
        }
    }

    /// Share that must be on huge pages.
    pub fn share(&self) -> Option<Share> {
        config::share_of(self.segment)
    }

    /// Whether `len` more bytes may be on other pages.
    pub fn has_room(&self, share: Share, len: usize) -> bool {
        let (other, all) = (&self.other, &self.all);
        share.may_miss(
            len as u64,
            other.load(Ordering::Relaxed),
            all.load(Ordering::Relaxed),
        )
    }

    /// Counts memory; `is_other` means that it isn't on the requested pages.
    pub fn count(&self, len: usize, is_other: bool) {
        if self.share().is_some() {
            self.all.fetch_add(len as u64, Ordering::Relaxed);
            let other = if is_other { len as u64 } else { 0 };
            self.other.fetch_add(other, Ordering::Relaxed);
        }
    }

    /// Counts `len` bytes of which `share` is required; returns whether they get transparent huge
    /// pages.
    ///
    /// # Errors
    /// `ENOMEM`, reported once, if they get none and may not be on base pages.
    pub fn admit(&self, share: Share, len: usize) -> Result<bool> {
        let served = thp::serves(len);
        let why = match served {
            Err(why) if !self.has_room(share, len) => why.reason(),
            _ => {
                self.count(len, served.is_err());
                return Ok(served.is_ok());
            }
        };
        unmet::note(self.segment);
        say_once(
            &self.said,
            Level::Error,
            format_args!(
                "--require={} is not met: {} would be on base pages: {why}; the request fails",
                Required(self.segment, share),
                Amount(len)
            ),
        );
        Err(Errno(libc::ENOMEM))
    }

    /// Reports memory that was handed out and turned out not to be on huge pages.
    pub fn report_late(&self, share: Share, len: usize) {
        unmet::note(self.segment);
        say_once(
            &self.said,
            Level::Error,
            format_args!(
                "--require={} is not met any more: the kernel had no huge page for {}",
                Required(self.segment, share),
                Amount(len)
            ),
        );
    }
}
