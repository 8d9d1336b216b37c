//! Whether a line is the first of its kind in all that hugectl has started: the file in
//! which that stands is opened for each line that is to be said, and closed again.
#![expect(unsafe_code, reason = "maps what other processes write to")]

use core::sync::atomic::{AtomicU64, Ordering};

use hugetools_contract::ledger::{Kind, LEN, Ledger, PREFIX, Place};

use crate::config;
use crate::sys::{self, File};

/// What this process has said, or one that it was forked from, or knows to be said.
static SAID: AtomicU64 = AtomicU64::new(0);

/// What is known of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// Nobody has said it.
    First,
    /// It was said.
    Old,
    /// This process has not said it, of others nothing is known.
    Own,
}

/// Whether this kind of line is news. It was said from now on.
pub(super) fn ask(kind: Kind) -> News {
    if SAID.fetch_or(kind.bit(), Ordering::Relaxed) & kind.bit() != 0 {
        return News::Old;
    }
    let place = config::get().starter.as_ref();
    match place.and_then(|starter| is_first(starter.ledger.as_ref()?, kind)) {
        None => News::Own,
        Some(true) => News::First,
        Some(false) => News::Old,
    }
}

fn is_first(place: &Place, kind: Kind) -> Option<bool> {
    let flags = libc::O_RDWR | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::open(place.path(), flags).ok()?;
    // A shorter one would raise a signal.
    file.size().filter(|size| *size == LEN)?;
    // So would a full file system.
    file.write_first(&PREFIX)
        .ok()
        .filter(|len| *len == PREFIX.len())?;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping replaces nothing.
    let at = unsafe { sys::mmap(0, LEN, prot, libc::MAP_SHARED, file.fd(), 0) }.ok()?;
    // SAFETY: mapped just now, of this length; all of it are atomic numbers.
    let ledger = unsafe { &*(at as *const Ledger) };
    let first = ledger.is_first(place.key(), kind);
    // SAFETY: mapped above, and the reference is not used any more.
    let _ = unsafe { sys::munmap(at, LEN) };
    first
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_file_a_process_says_it_once() {
        assert_eq!((ask(Kind::Gains), ask(Kind::Gains)), (News::Own, News::Old));
    }

    #[test]
    fn a_file_that_is_too_short_is_none() {
        let place = Place::new(1, b"/proc/self/cmdline").unwrap();
        assert_eq!(is_first(&place, Kind::Gains), None);
    }
}
