//! Records the kinds of warnings printed by the processes of one hugectl start, in a file that they
//! share. The file is open only during a query.
#![expect(unsafe_code, reason = "maps what other processes write to")]

use core::sync::atomic::{AtomicU64, Ordering};

use hugetools_contract::ledger::{Kind, LEN, Ledger, PREFIX, Place};

use crate::config;
use crate::sys::{self, File};

/// Kinds printed by this process, its ancestors, or others as far as known.
static PRINTED: AtomicU64 = AtomicU64::new(0);

/// Records a kind as printed; returns whether no process has printed it before. `None` if this
/// process hasn't, and others are unknown.
pub(super) fn claim(kind: Kind) -> Option<bool> {
    if PRINTED.fetch_or(kind.bit(), Ordering::Relaxed) & kind.bit() != 0 {
        return Some(false);
    }
    is_first(config::get().starter?.ledger.as_ref()?, kind)
}

fn is_first(place: &Place, kind: Kind) -> Option<bool> {
    let flags = libc::O_RDWR | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
    let file = File::open_mode(place.path(), flags, 0o600).ok()?;
    // A store on a full file system would raise SIGBUS; write(2) returns an error instead.
    file.write_first(&PREFIX)
        .ok()
        .filter(|len| *len == PREFIX.len())?;
    // Access beyond the end of the file would raise SIGBUS, too.
    if file.size()? < LEN {
        file.set_len(LEN).ok()?;
    }
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping replaces nothing.
    let at = unsafe { sys::mmap(0, LEN, prot, libc::MAP_SHARED, file.fd(), 0) }.ok()?;
    // SAFETY: mapped above with this length; the type consists of atomic integers.
    let ledger = unsafe { &*(at as *const Ledger) };
    let first = ledger.is_first(place, kind);
    // SAFETY: mapped above, and `ledger` isn't used any more.
    let _ = unsafe { sys::munmap(at, LEN) };
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_writable_is_none() {
        let place = Place::new(1, 0, b"/proc/self/cmdline").unwrap();
        assert_eq!(is_first(&place, Kind::Stacks), None);
    }
}
