//! On which memory nodes memory lies. What takes the place of other memory lies
//! where that did, and under its policy; what a program wants on certain nodes
//! goes there although it has been populated before.
#![expect(unsafe_code, reason = "sets the policies of memory by address")]

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use crate::sys::{self, Nodes, Policy, Result};
use crate::window::Window;
use crate::{bits, facts, hugetlb, register};

/// Whether the program has set a policy for memory of ours.
static SET: AtomicBool = AtomicBool::new(false);

/// Whether some memory of ours may have a policy of its own, which must not
/// outlive what the program had there.
pub(crate) fn has_policies() -> bool {
    SET.load(Ordering::Relaxed)
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

/// Copies memory to fresh memory, which will lie where the original does, page by
/// page of `step` bytes. To be followed by [`settle`].
///
/// # Safety
/// Both must be `len` bytes of memory, the original readable and the copy
/// writable and the caller's alone.
pub unsafe fn copy(original: usize, copy: usize, len: usize, step: usize) {
    let range = original..original + len;
    let copy_part = |part: Range<usize>| {
        let to = copy + (part.start - original);
        // SAFETY: as the caller says.
        unsafe {
            core::ptr::copy_nonoverlapping(part.start as *const u8, to as *mut u8, part.len());
        }
    };
    if !is_divided() {
        return copy_part(range);
    }
    let thread = Preferring::begin();
    for (part, wish) in runs(range, step, wish_for) {
        thread.wish(wish);
        copy_part(part);
    }
}

/// The policy under which a copy of a page lies where it should: its node,
/// unless the program wants it elsewhere by now.
fn wish_for(page: usize) -> Option<Policy> {
    let (policy, node) = (policy_of(page), node_of(page));
    let may_stay = policy.nodes == Nodes::NONE || is_one_of(node, &policy.nodes);
    match usize::try_from(node) {
        Ok(node) if may_stay && !is_spread(policy.mode) => Some(Policy::prefer(node)),
        _ if policy != Policy::DEFAULT => Some(policy),
        _ => None,
    }
}

/// Whether pages take turns on the nodes, in this mode without flags.
fn is_spread(mode: c_int) -> bool {
    matches!(mode & 0xff, 3 | 6)
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

/// Ends what [`copy`] began: the copy has the policies of the original from now
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

/// The node of one page, or a negative number.
fn node_of(addr: usize) -> c_int {
    let mut node = [-1];
    let _ = sys::nodes_of(&[addr], &mut node);
    node[0]
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

/// What a program asks for by `mbind(2)`, with its own mask.
#[derive(Debug, Clone, Copy)]
pub struct Wanted {
    /// The mode, with flags.
    pub mode: usize,
    /// Where the mask is; 0 for none.
    pub mask: usize,
    /// The mask's length in bits, as `mbind(2)` takes it.
    pub max: usize,
    /// `MPOL_MF_STRICT` and so on.
    pub flags: usize,
}

/// How far an `mbind(2)` has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// All pages are where the program wants them, or as near as can be.
    There,
    /// Pages of a pool are elsewhere still and cannot be moved there: they have
    /// to become ordinary memory first.
    Short,
}

impl Wanted {
    const MOVE: usize = 2;
    const STRICT: usize = 1;

    /// The mode without flags.
    fn plain_mode(&self) -> usize {
        self.mode & 0xff
    }

    /// Whether it names nodes, so that pages have to go there.
    fn names_nodes(&self) -> bool {
        !matches!(self.plain_mode(), 0 | 4) && self.mask != 0 && self.max > 1
    }

    fn is_bind(&self) -> bool {
        self.plain_mode() == 2
    }

    fn is_spread(&self) -> bool {
        is_spread(bits::int(self.mode))
    }

    /// The call itself, on memory that is none of ours.
    ///
    /// # Safety
    /// As for [`sys::mbind`].
    pub unsafe fn apply(&self, range: &Range<usize>) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe { self.call(range, self.flags) }
    }

    /// # Safety
    /// As for [`sys::mbind`].
    unsafe fn call(&self, range: &Range<usize>, flags: usize) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe {
            sys::mbind(
                range.start,
                range.len(),
                self.mode,
                self.mask,
                self.max,
                flags,
            )
        }
    }

    /// The call on memory of ours. It was populated before the program had
    /// touched it, so the pages that are there have to move. Where `may_fall` is
    /// not set, those of a pool move too although the pools of those nodes have
    /// none to give: the kernel takes such a page from free memory, and the pool
    /// has it from then on.
    ///
    /// # Safety
    /// As for [`sys::mbind`].
    pub unsafe fn apply_to_ours(&self, range: &Range<usize>, may_fall: bool) -> Result<Came> {
        SET.store(true, Ordering::Relaxed);
        if !self.names_nodes() {
            // SAFETY: as the caller says.
            return unsafe { self.apply(range) }.map(|()| Came::There);
        }
        if may_fall {
            // SAFETY: as the caller says; nothing moves yet.
            unsafe { self.call(range, 0)? };
            if !self.pools_suffice(range) {
                return Ok(Came::Short);
            }
        }
        // Without strictness: it would count a transparent huge page that lies
        // in the range with a part as one that cannot be moved.
        // SAFETY: as the caller says.
        unsafe { self.call(range, self.flags & !Wanted::STRICT | Wanted::MOVE)? };
        if self.is_spread() {
            for_windows(range, take_turns);
        }
        let is_strict = self.flags & Wanted::STRICT != 0;
        match (self.is_bind() || is_strict) && strays(range) {
            true if may_fall => Ok(Came::Short),
            true if is_strict => Err(sys::Errno(libc::EIO)),
            _ => Ok(Came::There),
        }
    }

    /// Whether the nodes of a range's policy have free pages for those that
    /// have to go there.
    fn pools_suffice(&self, range: &Range<usize>) -> bool {
        let mut suffice = true;
        for_windows(range, |window, part, nodes| {
            let all = pages_of_pool(window, &part);
            let free = |node| hugetlb::free_on(node, window.layout.unit);
            suffice &= match self.is_spread() {
                true => {
                    let each = (all.count() / nodes.count().max(1)) as u64;
                    nodes.iter().all(|node| each <= free(node))
                }
                false => {
                    let strays = all.filter(|page| !is_one_of(node_of(*page), nodes));
                    strays.count() as u64 <= nodes.iter().map(free).sum()
                }
            };
        });
        suffice
    }
}

/// The pages of a pool in a part of a window: the first address of each.
fn pages_of_pool(window: &Window, part: &Range<usize>) -> impl Iterator<Item = usize> {
    let units = window.unit_at(part.start)..window.unit_at(part.end - 1) + 1;
    let pages = units.filter(|unit| window.units()[*unit].load().0.is_hugetlb());
    pages.map(|unit| window.address(unit))
}

fn is_one_of(node: c_int, nodes: &Nodes) -> bool {
    usize::try_from(node).is_ok_and(|node| nodes.contains(node))
}

/// Whether a page of a range is on none of the nodes of its policy.
fn strays(range: &Range<usize>) -> bool {
    let Ok(Policy { nodes, .. }) = sys::policy_of(range.start) else {
        return false;
    };
    let mut pages = range.clone().step_by(facts::page_size());
    loop {
        let (mut at, mut on, mut len) = ([0; BATCH], [-1; BATCH], 0);
        for page in pages.by_ref().take(BATCH) {
            at[len] = page;
            len += 1;
        }
        let asked = sys::nodes_of(&at[..len], &mut on[..len]);
        if len == 0 || asked.is_err() {
            return false;
        }
        if on[..len]
            .iter()
            .any(|on| *on >= 0 && !is_one_of(*on, &nodes))
        {
            return true;
        }
    }
}

/// Calls `each` for every window that a range meets, with its part of it and
/// the nodes of the range's policy.
fn for_windows(range: &Range<usize>, mut each: impl FnMut(&Window, Range<usize>, &Nodes)) {
    let Ok(Policy { nodes, .. }) = sys::policy_of(range.start) else {
        return;
    };
    register::look(|| {
        for window in register::windows() {
            let start = range.start.max(window.base);
            let end = range.end.min(window.base + window.len);
            if start < end {
                each(window, start..end, &nodes);
            }
        }
    });
}

/// How many pages are moved by one call.
const BATCH: usize = 64;

/// Has the pages of a part take turns on nodes, as they would have if they had
/// not been there before.
fn take_turns(window: &Window, part: Range<usize>, nodes: &Nodes) {
    let (step, count) = (window.layout.unit, nodes.count().max(1));
    let turn = |page: usize| nodes.iter().nth(page / step % count).unwrap_or(0);
    let first = part.start.next_multiple_of(step);
    let mut pages = (first..part.end).step_by(step);
    loop {
        let (mut at, mut to, mut len) = ([0; BATCH], [0; BATCH], 0);
        for page in pages.by_ref().take(BATCH) {
            at[len] = page;
            to[len] = c_int::try_from(turn(page)).unwrap_or(0);
            len += 1;
        }
        if len == 0 {
            return;
        }
        // SAFETY: memory of ours, in the program's use; what cannot be moved
        // stays, as the policy allows.
        let _ = unsafe { sys::move_pages(&at[..len], &to[..len], &mut [0; BATCH]) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_equal_steps() {
        let look = |addr: usize| usize::from(addr >= 40) + usize::from(addr >= 60);
        let all: Vec<_> = runs(25..75, 10, look).collect();
        assert_eq!(all, [(25..40, 0), (40..60, 1), (60..75, 2)]);
        assert_eq!(runs(5..5, 10, look).count(), 0);
        assert_eq!(runs(5..6, 10, look).next(), Some((5..6, 0)));
    }

    #[test]
    fn policies_without_nodes_move_nothing() {
        let wanted = |mode, mask, max| Wanted {
            mode,
            mask,
            max,
            flags: 0,
        };
        assert!(!wanted(0, 0, 0).names_nodes());
        assert!(!wanted(4, 8, 64).names_nodes());
        // MPOL_PREFERRED of no node is the local one.
        assert!(!wanted(1, 0, 0).names_nodes());
        assert!(wanted(2 | 1 << 15, 8, 64).names_nodes());
        assert!(wanted(2 | 1 << 15, 8, 64).is_bind());
    }
}
