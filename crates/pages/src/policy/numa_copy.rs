//! On which memory nodes memory lies: what takes the place of other memory lies
//! where that did, and under its policy.
#![expect(unsafe_code, reason = "sets the policies of memory by address")]

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::kernel::facts;
use crate::policy::fresh_copy;
use crate::sys::{self, Nodes, Policy};

/// Whether the program has set a policy for memory of ours.
static SET: AtomicBool = AtomicBool::new(false);

/// Whether some memory of ours may have a policy of its own, which must not
/// outlive what the program had there.
pub(crate) fn has_policies() -> bool {
    SET.load(Ordering::Relaxed)
}

/// Notes that some has.
pub(crate) fn note_policy() {
    SET.store(true, Ordering::Relaxed);
}

/// Whether there is more than one node that this process may have memory of;
/// found out once.
pub fn is_divided() -> bool {
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    static KNOWN: AtomicU8 = AtomicU8::new(UNKNOWN);
    let known = match KNOWN.load(Ordering::Relaxed) {
        UNKNOWN => match sys::allowed_nodes() {
            Ok(nodes) if nodes.count() > 1 => YES,
            // Without CONFIG_NUMA there is one node.
            _ => NO,
        },
        known => known,
    };
    KNOWN.store(known, Ordering::Relaxed);
    known == YES
}

/// Copies memory to other memory, of which what is not there yet will lie where the
/// original does, page by page of `step` bytes. To be followed by [`settle`]. Where system
/// calls are filtered it lies where this thread runs: `set_mempolicy(2)` may be deadly
/// to a program that makes no such calls.
///
/// # Safety
/// Both must be `len` bytes of memory, whole base pages, the original readable and the copy
/// writable and the caller's alone. What it had of zeros goes where that is shared memory.
pub unsafe fn copy_again(original: usize, copy: usize, len: usize, step: usize) {
    // SAFETY: as the caller says.
    unsafe { spread(original..original + len, copy, step, fresh_copy::copy_again) };
}

/// The same where nothing of the copy is there yet, which is shared memory: base pages of
/// zeros are not there afterwards, either.
///
/// # Safety
/// As for [`copy_again`].
pub unsafe fn copy_what_is_there(original: usize, copy: usize, len: usize, step: usize) {
    // SAFETY: as the caller says.
    unsafe {
        spread(
            original..original + len,
            copy,
            step,
            fresh_copy::copy_what_is_there,
        )
    };
}

/// The same of private memory: what is zero by whole transparent huge pages stays out.
///
/// # Safety
/// As for [`copy_again`], of whole base pages.
pub unsafe fn copy_to_fresh(original: usize, copy: usize, len: usize, step: usize) {
    // SAFETY: as the caller says.
    unsafe { spread(original..original + len, copy, step, fresh_copy::copy) };
}

/// Has a range copied by a function, part by part of those that lie on one node.
///
/// # Safety
/// As that function says.
unsafe fn spread(
    original: Range<usize>,
    copy: usize,
    step: usize,
    copy_part: unsafe fn(usize, usize, usize),
) {
    let start = original.start;
    let copy_part = |part: Range<usize>| {
        // SAFETY: as the caller says.
        unsafe { copy_part(part.start, copy + (part.start - start), part.len()) };
    };
    if !is_divided() || facts::has_filter() && !has_policies() {
        return copy_part(original);
    }
    let thread = Preferring::begin();
    for (part, wish) in runs(original, step, wish_for) {
        thread.wish(wish);
        copy_part(part);
    }
}

/// The policy under which a copy of a page lies where it should: its node,
/// unless the program wants it elsewhere by now.
fn wish_for(page: usize) -> Option<Policy> {
    let policy = policy_of(page);
    let may_stay = |node: &c_int| policy.nodes == Nodes::NONE || is_one_of(*node, &policy.nodes);
    let node = sys::node_of(page).ok().filter(may_stay);
    match node.and_then(|node| usize::try_from(node).ok()) {
        Some(node) => Some(Policy::prefer(node)),
        _ if policy != Policy::DEFAULT => Some(policy),
        _ => None,
    }
}

/// A time in which this thread's fresh pages come from a chosen node. Handlers
/// of the program's wait meanwhile, lest theirs do so, too.
struct Preferring {
    before: Policy,
    _quiet: sys::NoSignals,
}

impl Preferring {
    fn begin() -> Preferring {
        let quiet = sys::NoSignals::begin();
        Preferring {
            before: sys::thread_policy().unwrap_or(Policy::DEFAULT),
            _quiet: quiet,
        }
    }

    fn wish(&self, wish: Option<Policy>) {
        let _ = wish.unwrap_or(self.before).set_for_thread();
    }
}

impl Drop for Preferring {
    fn drop(&mut self) {
        let _ = self.before.set_for_thread();
    }
}

/// The parts of a range, by steps, that have one policy each.
pub(crate) fn parts(range: Range<usize>, step: usize) -> impl Iterator<Item = Range<usize>> {
    let step = match is_divided() {
        true => step,
        // Then there is one policy.
        false => 1 << 63,
    };
    runs(range, step, policy_of).map(|(part, _)| part)
}

fn policy_of(addr: usize) -> Policy {
    sys::policy_of(addr).unwrap_or(Policy::DEFAULT)
}

/// Ends what [`copy_again`] began: the copy has the policies of the original from now
/// on.
///
/// # Safety
/// The copy must be the caller's.
pub unsafe fn settle(original: Range<usize>, copy: usize, step: usize) {
    if !is_divided() {
        return;
    }
    for (part, policy) in runs(original.clone(), step, policy_of) {
        let at = copy + (part.start - original.start);
        if policy != Policy::DEFAULT {
            // SAFETY: as the caller says.
            let _ = unsafe { policy.set(at, part.len()) };
        }
    }
}

/// Whether it is one of these nodes.
pub(crate) fn is_one_of(node: c_int, nodes: &Nodes) -> bool {
    usize::try_from(node).is_ok_and(|node| nodes.contains(node))
}

/// The parts of a range in which `look` finds the same at each multiple of
/// `step`.
fn runs<T: PartialEq>(
    range: Range<usize>,
    step: usize,
    look: impl Fn(usize) -> T,
) -> impl Iterator<Item = (Range<usize>, T)> {
    let mut at = range.start;
    core::iter::from_fn(move || {
        let start = at;
        let found = (start < range.end).then(|| look(start))?;
        let next = |at: usize| (at + 1).next_multiple_of(step).min(range.end);
        at = next(start);
        while at < range.end && look(at) == found {
            at = next(at);
        }
        Some((start..at, found))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_copied_over() {
        let page = sys::page_size();
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        let map = || unsafe { sys::mmap(0, page, prot, flags, -1, 0).unwrap() };
        let (from, to) = (map(), map());
        // SAFETY: mapped just now.
        unsafe { (to as *mut u8).write(7) };
        // SAFETY: memory of the test.
        unsafe { copy_again(from, to, page, page) };
        // SAFETY: likewise.
        assert_eq!(unsafe { (to as *const u8).read() }, 0);
    }

    #[test]
    fn runs_of_equal_steps() {
        let look = |addr: usize| usize::from(addr >= 40) + usize::from(addr >= 60);
        let all: Vec<_> = runs(25..75, 10, look).collect();
        assert_eq!(all, [(25..40, 0), (40..60, 1), (60..75, 2)]);
        assert_eq!(runs(5..5, 10, look).count(), 0);
        assert_eq!(runs(5..6, 10, look).next(), Some((5..6, 0)));
    }
}
