//! Prints each kind of warning once for all processes of one hugectl start. A shared file
//! records them; it is opened for each line only.
#![expect(unsafe_code, reason = "maps what other processes write to")]

use core::sync::atomic::{AtomicU64, Ordering};

use hugetools_contract::ledger::{Kind, LEN, Ledger, PREFIX, Place};

use crate::config;
use crate::sys::{self, File};

/// Kinds that this process or an ancestor has printed, or knows to be printed.
static PRINTED: AtomicU64 = AtomicU64::new(0);

/// Whether a kind of line was printed before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum News {
    /// Nobody has printed it.
    First,
    /// It was printed.
    Old,
    /// Not by this process; others are unknown.
    Own,
}

/// Records a kind of line as printed; returns whether it was.
pub(super) fn claim(kind: Kind) -> News {
    if PRINTED.fetch_or(kind.bit(), Ordering::Relaxed) & kind.bit() != 0 {
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
    // Access beyond the end of a shorter file would raise SIGBUS.
    file.size().filter(|size| *size == LEN)?;
    // So would a write on a full file system.
    file.write_first(&PREFIX)
        .ok()
        .filter(|len| *len == PREFIX.len())?;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping replaces nothing.
    let at = unsafe { sys::mmap(0, LEN, prot, libc::MAP_SHARED, file.fd(), 0) }.ok()?;
    // SAFETY: mapped above with this length; the type consists of atomic integers.
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
    fn a_file_that_is_too_short_is_none() {
        let place = Place::new(1, b"/proc/self/cmdline").unwrap();
        assert_eq!(is_first(&place, Kind::Stacks), None);
    }
}
