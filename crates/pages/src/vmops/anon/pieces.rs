//! Programs that make their heap of small mappings of one size, each at an address drawn by
//! lot, as V8 does: one by one, without access, with as much more as aligns them, which
//! they unmap at once; then they open each. No huge page fits into any. Where it is said
//! that the program is one of these (`HUGETLB_ANON_PIECES`), they come to lie side by
//! side: the address that it names, which the kernel may pass over, becomes another one.
//! They are advised alike, so that they merge, and a huge page of which all pieces may be
//! written is put together.
//!
//! Each call does what it would do without us. A mapping of any other length, with other
//! flags, or whose address must be kept is none of these.
//!
//! No locks: see [`crate::registry::pieces`].
#![expect(unsafe_code, reason = "puts huge pages together by address")]

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use super::call::{Call, advise, is_active, range};
use crate::config;
use crate::kernel::facts;
use crate::policy::thp;
use crate::registry::pieces::{self as registry, Sizes};
use crate::sys::{self, Errno, Result};

/// How a program maps a piece: with an address that it need not get, and room for more
/// than is used.
const PIECE: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;

const OPEN: c_int = libc::PROT_READ | libc::PROT_WRITE;

fn sizes() -> Option<Sizes> {
    let piece = usize::try_from(config::get().anon_pieces?).ok()?;
    Sizes::new(piece, facts::thp_size(), sys::page_size())
}

/// The sizes, where there may be pieces.
#[inline]
fn known() -> Option<Sizes> {
    match registry::is_empty() {
        true => None,
        false => sizes(),
    }
}

fn is_piece(call: &Call, sizes: Sizes) -> bool {
    let is_named = call.addr != 0 && call.addr % sizes.piece == 0;
    let has_room = call.len == 2 * sizes.piece - sys::page_size();
    is_named && has_room && call.prot == libc::PROT_NONE && call.flags == PIECE
}

/// Makes the mapping, by `map` with an address, where the call is for a piece.
pub(super) fn map(call: &Call, map: impl FnOnce(usize) -> Result<usize>) -> Result<usize> {
    let place = sizes()
        .filter(|sizes| is_piece(call, *sizes))
        .and_then(|sizes| Some((registry::claim(call.addr, sizes)?, sizes)));
    let Some((place, sizes)) = place else {
        return map(call.addr);
    };
    let at = map(place);
    match at {
        Ok(at) if at == place => {
            if thp::serves_mapping(sizes.piece) {
                advise(at, call.len);
            }
        }
        _ => registry::missed(place, sizes),
    }
    at
}

/// After the program has changed what may be done with memory.
pub(super) fn protected(addr: usize, len: usize, prot: c_int) {
    let Some((range, sizes)) = range(addr, len).zip(known()) else {
        return;
    };
    match prot == OPEN {
        false => registry::closed(&range, sizes),
        true if registry::opened(&range, sizes) && is_active() => put_together(sizes),
        true => {}
    }
}

/// After something else has come to lie there, or the program wants no huge pages there.
pub(super) fn replaced(addr: usize, len: usize) {
    if let Some((range, sizes)) = range(addr, len).zip(known()) {
        registry::closed(&range, sizes);
    }
}

/// After the program has unmapped a range.
pub(super) fn gone(addr: usize, len: usize) {
    if let Some((range, sizes)) = range(addr, len).zip(known()) {
        registry::gone(&range, sizes);
    }
}

/// So many huge pages are put together by one call at most: each call waits for all
/// processors once, and others that map memory wait for it.
const MOST: usize = 8;

/// How many were so far.
static DONE: AtomicUsize = AtomicUsize::new(0);

/// When more may be, in milliseconds.
static REST: AtomicU64 = AtomicU64::new(0);

/// So many times as long as it takes to put some together, no others are, once there were
/// more than there is memory for: where that comes and goes.
const PAUSE: u64 = 16;

/// Puts huge pages together once there are some: an eighth of those that were, so that few
/// calls are made and little is left.
fn put_together(sizes: Sizes) {
    let done = DONE.load(Ordering::Relaxed);
    let enough = (done / MOST).clamp(1, MOST);
    let is_first = done < registry::open_in_all(sizes);
    let is_rested = || sys::about_now() >= REST.load(Ordering::Relaxed);
    if !(is_first || is_rested()) || registry::whole(sizes).take(enough).count() < enough {
        return;
    }
    if !thp::serves_mapping(0) {
        return;
    }
    let begun = sys::now();
    let mut run = Run::default();
    let ready = registry::whole(sizes).take(MOST);
    for at in ready.filter(|at| registry::take(*at, sizes)) {
        if !run.add(at, sizes) {
            run.collapse(sizes);
            run = Run(at..at + sizes.huge);
        }
    }
    run.collapse(sizes);
    let end = sys::now();
    REST.store(end + PAUSE * end.saturating_sub(begun), Ordering::Relaxed);
}

/// Huge pages one behind the other.
#[derive(Default)]
struct Run(Range<usize>);

impl Run {
    /// Whether one more belongs to it.
    fn add(&mut self, at: usize, sizes: Sizes) -> bool {
        if self.0.is_empty() {
            self.0 = at..at;
        }
        let is_next = self.0.end == at;
        if is_next {
            self.0.end += sizes.huge;
        }
        is_next
    }

    fn collapse(&self, sizes: Sizes) {
        if self.0.is_empty() {
            return;
        }
        DONE.fetch_add(self.0.len() / sizes.huge, Ordering::Relaxed);
        // SAFETY: memory of the program's, of which the contents stay.
        let done = unsafe { thp::collapse(self.0.start, self.0.len()) };
        if done != Err(Errno(libc::EAGAIN)) {
            return;
        }
        // Others had pages of it in use for a moment. What is huge already costs nothing.
        for at in self.0.clone().step_by(sizes.huge) {
            registry::untake(at, sizes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: usize = 1 << 10;
    const SIZES: Sizes = Sizes {
        piece: 256 * KIB,
        huge: 2048 * KIB,
    };

    #[test]
    fn what_is_a_piece() {
        let piece = Call {
            addr: 3 * SIZES.piece,
            len: 2 * SIZES.piece - sys::page_size(),
            prot: libc::PROT_NONE,
            flags: PIECE,
        };
        assert!(is_piece(&piece, SIZES));
        let len = SIZES.piece;
        for other in [
            Call { addr: 0, ..piece },
            Call {
                addr: 64 * KIB,
                ..piece
            },
            Call { len, ..piece },
            Call {
                prot: OPEN,
                ..piece
            },
            Call {
                flags: PIECE | libc::MAP_FIXED,
                ..piece
            },
            Call {
                flags: PIECE | libc::MAP_FIXED_NOREPLACE,
                ..piece
            },
        ] {
            assert!(!is_piece(&other, SIZES), "{other:?}");
        }
    }

    #[test]
    fn huge_pages_in_a_row_are_one_call() {
        let mut run = Run::default();
        assert!(run.add(SIZES.huge, SIZES) && run.add(2 * SIZES.huge, SIZES));
        assert!(!run.add(4 * SIZES.huge, SIZES));
        assert_eq!(run.0, SIZES.huge..3 * SIZES.huge);
    }
}
