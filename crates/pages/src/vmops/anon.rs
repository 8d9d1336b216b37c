//! Large private anonymous mappings that the program makes by itself, as its own
//! allocator or virtual machine does: aligned where the kernel did not, and advised to be
//! on transparent huge pages before they are touched (`HUGETLB_ANON`).
//!
//! Each call does what it would do without us. An address that the program names is kept,
//! and pages of a pool are never taken: of those no part could be unmapped, protected or
//! dropped. So nothing has to be undone for what the program does later: transparent huge
//! pages are split by the kernel.
//!
//! What is reserved without access is advised with all that will be committed in it, so
//! that commits merge with each other. Where a control group limits memory, each commit
//! is advised by itself, as far as there is room: [`crate::policy::thp`].
//!
//! Small mappings stay as they are.
//!
//! Under a filter of system calls that the program has set, nothing is done at all.
#![expect(unsafe_code, reason = "fills mappings by address")]

use core::ffi::c_int;
use core::ops::Range;

use crate::kernel::{facts, populate};
use crate::policy::{first_look, thp};
use crate::registry::anon::{self as registry, Known};
use crate::sys::Result;
use call::{advise, is_active, large, range};

mod align;
mod call;
mod program_break;
mod remap;
mod required;

pub use call::{Call, is_asked};
pub use program_break::break_moved;
pub use remap::{grow, remapped};
pub use required::{commit, growth};

/// What becomes of a mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    /// Whether it is advised.
    advise: bool,
    entry: Entry,
}

/// What becomes of what is known of the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// It belongs to what is there.
    Stays,
    /// A mapping of its own.
    New,
    /// Nothing of ours.
    Gone,
}

fn plan(call: &Call, large: usize) -> Plan {
    let within = match call.is_fixed() {
        true => range(call.addr, call.len).and_then(|range| registry::holding(&range)),
        false => None,
    };
    if let Some(known) = within {
        return Plan {
            advise: known.is_advised || call.is_writable() && required::serves(call.len),
            entry: Entry::Stays,
        };
    }
    // What fills a gap beside such a mapping merges with it, as it would without us.
    let is_part = || range(call.addr, call.len).is_some_and(|range| registry::is_beside(&range));
    let is_large = call.len >= large || call.names_its_place() && is_part();
    let serves = || match call.is_writable() {
        true => required::serves(call.len),
        false => thp::serves_reservation(),
    };
    Plan {
        advise: is_large && serves(),
        entry: if is_large { Entry::New } else { Entry::Gone },
    }
}

/// Does a call that is concerned. `map` makes the mapping with this address and these flags.
///
/// # Errors
/// Those of `map`, and `ENOMEM` where more of it must be on huge pages than can be.
pub fn map(call: &Call, map: impl FnOnce(usize, c_int) -> Result<usize>) -> Result<usize> {
    first_look::take();
    let plan = plan(call, large());
    required::before(call, plan)?;
    // What is filled before it is advised is filled with base pages.
    let is_filled = plan.advise && call.is_filled();
    let flags = match is_filled {
        true => call.flags & !libc::MAP_POPULATE,
        false => call.flags,
    };
    let mut at = map(call.addr, flags)?;
    if plan.advise {
        at = align::aligned(call, at, facts::thp_size());
        advise(at, call.len);
    }
    required::after(call, plan, at)?;
    if is_filled {
        // What cannot be had is no error of such a call.
        // SAFETY: mapped just now, writable, and known to nobody.
        let _ = unsafe { populate::populate(at, call.len, facts::thp_size()) };
    }
    if let Some(range) = range(at, call.len) {
        enter(range, plan);
    }
    Ok(at)
}

fn enter(range: Range<usize>, plan: Plan) {
    let is_advised = plan.advise;
    match plan.entry {
        Entry::New => registry::enter(&Known { range, is_advised }),
        Entry::Gone => registry::cut(&range),
        Entry::Stays => {}
    }
}

/// After the program has made memory accessible: what was reserved without being advised
/// is now.
pub fn committed(addr: usize, len: usize, prot: c_int) {
    // What is required was advised before.
    if required::is_any() {
        return;
    }
    for part in opened(addr, len, prot).filter(|part| !part.is_advised) {
        let part = part.range;
        if thp::serves_mapping(part.len()) {
            advise(part.start, part.len());
        }
    }
}

/// What a call makes accessible of what is known.
fn opened(addr: usize, len: usize, prot: c_int) -> impl Iterator<Item = Known> {
    let is_meant = prot & libc::PROT_WRITE != 0 && !registry::is_empty() && is_active();
    let range = range(addr, len).filter(|_| is_meant);
    range.into_iter().flat_map(|range| registry::parts(&range))
}

/// After the program has unmapped a range, or mapped another kind of memory there.
pub fn gone(addr: usize, len: usize) {
    if registry::is_empty() {
        return;
    }
    if let Some(range) = range(addr, len) {
        registry::cut(&range);
    }
}

/// After the program has turned transparent huge pages off for itself: what it has mapped
/// and not used yet gets none any more, as a database's buffers do.
pub fn banned() {
    if !registry::is_empty() && is_active() {
        // Says it once.
        let _ = thp::serves_mapping(0);
    }
}

/// After an advice of the program's own: where it wants no huge pages there are none, also
/// where it commits more.
pub fn advised(addr: usize, len: usize, advice: c_int) {
    if advice == libc::MADV_NOHUGEPAGE {
        gone(addr, len);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn call(len: usize) -> Call {
        Call {
            addr: 0,
            len,
            prot: libc::PROT_READ | libc::PROT_WRITE,
            flags: libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
        }
    }

    #[test]
    fn small_ones_stay_as_they_are() {
        let small = call(MIB);
        let left = Plan {
            advise: false,
            entry: Entry::Gone,
        };
        assert_eq!(plan(&small, 2 * MIB), left);
        assert_eq!(plan(&small, MIB).entry, Entry::New);
    }
}
