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

use crate::kernel::{facts, populate};
use crate::policy::{start_facts, thp};
use crate::registry::anon::{self as registry, AnonMapping};
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
pub use required::admit_growth;

/// How a new mapping relates to the registered ones.
enum Kind {
    /// Replaces a part of a registered mapping.
    Within(AnonMapping),
    /// Large, or beside an advised one.
    New,
    /// Too small.
    Small,
}

fn kind(call: &Call) -> Kind {
    let range = range(call.addr, call.len).filter(|_| call.requires_addr());
    let replaced = range.as_ref().filter(|_| call.is_fixed());
    if let Some(mapping) = replaced.and_then(registry::containing) {
        return Kind::Within(mapping);
    }
    // A mapping that fills a gap beside an advised one merges with it.
    match call.len >= large() || range.is_some_and(|range| registry::touches_advised(&range)) {
        true => Kind::New,
        false => Kind::Small,
    }
}

/// Whether to advise a mapping. `ENOMEM` if required huge pages are ruled out.
fn is_advised(call: &Call, kind: &Kind) -> Result<bool> {
    match kind {
        Kind::Small => Ok(false),
        Kind::Within(mapping) if !call.is_writable() => Ok(mapping.is_advised),
        Kind::Within(mapping) => required::admit_part(call.len, mapping.is_advised),
        Kind::New if !call.is_writable() => Ok(thp::serves_reservation()),
        // Smaller mappings don't count as required.
        Kind::New if call.len < facts::thp_size() => Ok(thp::serves_mapping(call.len)),
        Kind::New => required::admit(call.len),
    }
}

/// Makes a mapping; `map` calls `mmap` with the address and flags that it gets. `ENOMEM` if
/// required huge pages are ruled out.
pub fn map(call: &Call, map: impl Fn(usize, c_int) -> Result<usize>) -> Result<usize> {
    start_facts::take();
    let kind = kind(call);
    let is_advised = is_advised(call, &kind)?;
    // MAP_POPULATE would populate base pages before the advice.
    let populates = is_advised && call.wants_populate();
    let flags = match populates {
        true => call.flags & !libc::MAP_POPULATE,
        false => call.flags,
    };
    let mut at = map(call.addr, flags)?;
    if is_advised {
        at = align::aligned(call, at, facts::thp_size(), || map(0, flags))?;
        advise(at, call.len);
    }
    if populates {
        // MAP_POPULATE doesn't report a failure either.
        // SAFETY: mapped above, writable; no other code has the address.
        let _ = unsafe { populate::populate(at, call.len, facts::thp_size()) };
    }
    match (range(at, call.len), kind) {
        (Some(range), Kind::New) => registry::add(&AnonMapping { range, is_advised }),
        (Some(range), Kind::Small) => registry::remove(&range),
        _ => {}
    }
    Ok(at)
}

/// Advises parts of reservations before `mprotect` makes them writable, unless they were advised
/// as a whole. `ENOMEM` if required huge pages are ruled out.
pub fn commit(addr: usize, len: usize, prot: c_int) -> Result<()> {
    if prot & libc::PROT_WRITE == 0 || registry::is_empty() || !is_active() {
        return Ok(());
    }
    let parts = range(addr, len).into_iter();
    for part in parts.flat_map(|range| registry::intersections(&range)) {
        let range = part.range;
        if required::admit_part(range.len(), part.is_advised)? && !part.is_advised {
            advise(range.start, range.len());
        }
    }
    Ok(())
}

/// Forgets a range that the program has unmapped or replaced.
pub fn note_unmapped(addr: usize, len: usize) {
    if registry::is_empty() {
        return;
    }
    if let Some(range) = range(addr, len) {
        registry::remove(&range);
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
pub fn note_advice(addr: usize, len: usize, advice: c_int) {
    if advice == libc::MADV_NOHUGEPAGE {
        note_unmapped(addr, len);
    }
}
