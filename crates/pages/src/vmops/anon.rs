//! Large private anonymous mappings of the program, such as its own allocator's or a virtual
//! machine's: aligned unless the kernel did so, and advised before they are touched
//! (`HUGETLB_ANON`).
//!
//! A requested address is kept. Pool pages are never used, since no part of one can be unmapped,
//! protected or dropped. The kernel splits transparent huge pages as needed.
//!
//! Inaccessible reservations are advised as a whole, so that the parts that become writable later
//! (commits) merge. In a limited memory control group each commit is advised by itself, as far as
//! there is room: [`crate::policy::thp`].
//!
//! Small mappings, and programs with their own seccomp filter, are left alone.
#![expect(unsafe_code, reason = "fills mappings by address")]

use core::ffi::c_int;
use core::ops::Range;

use crate::kernel::{facts, populate};
use crate::policy::{start_facts, thp};
use crate::registry::anon::{self as registry, Known};
use crate::sys::Result;
use call::{advise, is_active, large, range};

mod align;
mod call;
mod program_break;
mod remap;
mod required;

pub use call::{Call, is_enabled};
pub use program_break::break_moved;
pub use remap::remapped;
pub use required::{commit, growth};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Plan {
    advise: bool,
    entry: Entry,
}

/// What to do with the registry's entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entry {
    Stays,
    New,
    Gone,
}

fn plan(call: &Call) -> Plan {
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
    // A mapping that fills a gap beside an advised one merges with it.
    let is_part = || range(call.addr, call.len).is_some_and(|range| registry::is_beside(&range));
    let is_large = call.len >= large() || call.requires_addr() && is_part();
    let serves = || match call.is_writable() {
        true => required::serves(call.len),
        false => thp::serves_reservation(),
    };
    Plan {
        advise: is_large && serves(),
        entry: if is_large { Entry::New } else { Entry::Gone },
    }
}

/// Makes a mapping; `map` calls `mmap` with the address and flags that it gets. `ENOMEM` if a
/// required huge page is missing.
pub fn map(call: &Call, map: impl Fn(usize, c_int) -> Result<usize>) -> Result<usize> {
    start_facts::take();
    let plan = plan(call);
    required::before(call, plan)?;
    // MAP_POPULATE would populate base pages before the advice.
    let populates = plan.advise && call.wants_populate();
    let flags = match populates {
        true => call.flags & !libc::MAP_POPULATE,
        false => call.flags,
    };
    let mut at = map(call.addr, flags)?;
    if plan.advise {
        at = align::aligned(call, at, facts::thp_size(), || map(0, flags))?;
        advise(at, call.len);
    }
    required::after(call, plan, at)?;
    if populates {
        // MAP_POPULATE doesn't report a failure either.
        // SAFETY: mapped above, writable, and nobody knows it.
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

/// Advises parts of reservations that have become writable, unless they were advised before.
pub fn committed(addr: usize, len: usize, prot: c_int) {
    // `commit` has advised required memory.
    if required::is_any() {
        return;
    }
    for part in made_writable(addr, len, prot).filter(|part| !part.is_advised) {
        let part = part.range;
        if thp::serves_mapping(part.len()) {
            advise(part.start, part.len());
        }
    }
}

/// Yields the registered parts that a call makes writable.
fn made_writable(addr: usize, len: usize, prot: c_int) -> impl Iterator<Item = Known> {
    let applies = prot & libc::PROT_WRITE != 0 && !registry::is_empty() && is_active();
    let range = range(addr, len).filter(|_| applies);
    range.into_iter().flat_map(|range| registry::parts(&range))
}

/// Forgets a range that the program has unmapped or replaced.
pub fn note_unmapped(addr: usize, len: usize) {
    if registry::is_empty() {
        return;
    }
    if let Some(range) = range(addr, len) {
        registry::cut(&range);
    }
}

/// Reports that untouched mappings, such as a database's buffers, get no huge pages. Call it after
/// the program has disabled transparent huge pages for itself.
pub fn report_disabled() {
    if !registry::is_empty() && is_active() {
        // Called for its report only.
        let _ = thp::serves_mapping(0);
    }
}

/// Forgets a range with the program's own `MADV_NOHUGEPAGE`, so that commits aren't advised.
pub fn advised(addr: usize, len: usize, advice: c_int) {
    if advice == libc::MADV_NOHUGEPAGE {
        note_unmapped(addr, len);
    }
}
