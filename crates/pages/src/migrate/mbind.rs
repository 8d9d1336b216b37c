//! `mbind(2)` on memory of ours: what a program wants on certain nodes goes
//! there although it was populated before the program had touched it.
//!
//! The pools of those nodes may have too few pages for it. The kernel would then
//! make some of free memory, and leave the pools with other shares than they
//! were given; so the memory becomes ordinary memory instead.
#![expect(unsafe_code, reason = "sets the policies of memory by address")]

use core::ffi::c_int;
use core::ops::Range;

use crate::extent::unit::State;
use crate::extent::{Extent, index};
use crate::kernel::{facts, hugetlb_pool, populate};
use crate::policy::numa_copy::{is_one_of, note_policy};
use crate::sys::{self, Errno, Nodes, Policy, Result, cast};

/// What a program asks for, with its own mask.
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

/// How far it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// All pages are where the program wants them, or as near as can be.
    There,
    /// Pages of a pool are elsewhere still: they have to become ordinary memory
    /// first.
    Short,
}

const STRICT: usize = 1;
const MOVE: usize = 2;

impl Wanted {
    /// The mode without flags.
    fn plain_mode(&self) -> c_int {
        cast::int(self.mode) & 0xff
    }

    /// Whether it names nodes, so that pages have to go there.
    fn names_nodes(&self) -> bool {
        let is_named = !matches!(self.plain_mode(), libc::MPOL_DEFAULT | libc::MPOL_LOCAL);
        is_named && self.mask != 0 && self.max > 1
    }

    /// Whether pages take turns on the nodes.
    fn is_spread(&self) -> bool {
        const WEIGHTED_INTERLEAVE: c_int = 6;
        matches!(
            self.plain_mode(),
            libc::MPOL_INTERLEAVE | WEIGHTED_INTERLEAVE
        )
    }

    fn is_strict(&self) -> bool {
        self.flags & STRICT != 0
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
        let (start, len) = (range.start, range.len());
        // SAFETY: as the caller says.
        unsafe { sys::mbind(start, len, self.mode, self.mask, self.max, flags) }
    }

    /// The call on private memory of ours. Where `may_fall` is not set, what is
    /// on pages of a pool moves as the kernel moves it, or stays.
    ///
    /// # Safety
    /// As for [`sys::mbind`].
    pub unsafe fn apply_to_private(&self, range: &Range<usize>, may_fall: bool) -> Result<Came> {
        note_policy();
        if !self.names_nodes() {
            // SAFETY: as the caller says.
            return unsafe { self.apply(range) }.map(|()| Came::There);
        }
        if may_fall {
            // SAFETY: as the caller says.
            unsafe { self.call(range, 0)? };
            if !self.pools_suffice_in_extents(range) {
                return Ok(Came::Short);
            }
        }
        // SAFETY: as the caller says.
        unsafe { self.move_there(range)? };
        let must = self.plain_mode() == libc::MPOL_BIND || self.is_strict();
        match must && strays(range) {
            true if may_fall => Ok(Came::Short),
            true if self.is_strict() => Err(Errno(libc::EIO)),
            _ => Ok(Came::There),
        }
    }

    /// The call on shared memory on pages of a pool. What is not there yet
    /// comes now: the reservation it rests on is no promise under a policy.
    /// After [`Came::Short`] the policy is what it was.
    ///
    /// # Safety
    /// As for [`sys::mbind`].
    pub unsafe fn apply_to_shared(&self, range: &Range<usize>, page: usize) -> Result<Came> {
        if !self.names_nodes() {
            // SAFETY: as the caller says.
            return unsafe { self.apply(range) }.map(|()| Came::There);
        }
        let before = sys::policy_of(range.start)?;
        // SAFETY: as the caller says.
        unsafe { self.call(range, 0)? };
        let pages = range.clone().step_by(page);
        let nodes = sys::policy_of(range.start)?.nodes;
        // SAFETY: as the caller says.
        let is_there = self.pools_suffice(pages, page, &nodes)
            && unsafe { self.move_there(range) }.is_ok()
            && populate::present(range.start, range.len()).is_ok()
            && !(self.is_strict() && strays(range));
        if is_there {
            return Ok(Came::There);
        }
        // SAFETY: as the caller says.
        unsafe { before.set(range.start, range.len())? };
        Ok(Came::Short)
    }

    /// Moves what is elsewhere. Without strictness, which would count a
    /// transparent huge page that lies in the range with a part as one that
    /// cannot be moved.
    ///
    /// # Safety
    /// As for [`sys::mbind`].
    unsafe fn move_there(&self, range: &Range<usize>) -> Result<()> {
        // SAFETY: as the caller says.
        unsafe { self.call(range, self.flags & !STRICT | MOVE)? };
        if self.is_spread() {
            let mut is_shared = true;
            for_extents(range, |extent, part, nodes| {
                is_shared = false;
                take_turns(part, (extent.layout.unit, extent.layout.unit), nodes);
            });
            if is_shared {
                let nodes = sys::policy_of(range.start)?.nodes;
                take_turns(range.clone(), (sys::page_size(), facts::thp_size()), &nodes);
            }
        }
        Ok(())
    }

    /// Whether the nodes of a range's policy have free pages for those of
    /// extents that have to go there.
    fn pools_suffice_in_extents(&self, range: &Range<usize>) -> bool {
        let mut suffice = true;
        for_extents(range, |extent, part, nodes| {
            for state in [State::Huge, State::Big] {
                let pages = pages_of_pool(extent, &part, state == State::Big);
                suffice &= self.pools_suffice(pages, extent.page_size(state), nodes);
            }
        });
        suffice
    }

    fn pools_suffice(
        &self,
        pages: impl Iterator<Item = usize>,
        size: usize,
        nodes: &Nodes,
    ) -> bool {
        let free = |node| hugetlb_pool::free_on(node, size);
        if self.is_spread() {
            let each = (pages.count() / nodes.count().max(1)) as u64;
            return nodes
                .iter()
                .all(|node| free(node).is_some_and(|free| each <= free));
        }
        let astray = pages.filter(|page| !is_one_of(node_of(*page), nodes));
        match astray.count() as u64 {
            0 => true,
            count => count <= nodes.iter().filter_map(free).sum(),
        }
    }
}

/// The pages of a pool in a part of an extent, larger ones or those of the
/// unit's size: the first address of each.
fn pages_of_pool(extent: &Extent, part: &Range<usize>, big: bool) -> impl Iterator<Item = usize> {
    let units = extent.unit_at(part.start)..extent.unit_at(part.end - 1) + 1;
    let pages = units.filter(move |unit| {
        let (state, _) = extent.units()[*unit].load();
        let is_first = extent.page_of(*unit, state).start == *unit;
        state.is_hugetlb() && is_first && (state == State::Big) == big
    });
    pages.map(|unit| extent.address(unit))
}

/// How many pages are asked for or moved by one call.
const BATCH: usize = 64;

/// Calls `each` with as many as that.
fn in_batches(mut pages: impl Iterator<Item = usize>, mut each: impl FnMut(&[usize]) -> bool) {
    loop {
        let (mut batch, mut len) = ([0; BATCH], 0);
        for page in pages.by_ref().take(BATCH) {
            batch[len] = page;
            len += 1;
        }
        if len == 0 || !each(&batch[..len]) {
            return;
        }
    }
}

/// The node of one page, or a negative number where it is not there.
fn node_of(page: usize) -> c_int {
    let mut node = [-1];
    let _ = sys::nodes_of(&[page], &mut node);
    node[0]
}

/// Whether a page of a range is on none of the nodes of its policy.
fn strays(range: &Range<usize>) -> bool {
    let Ok(Policy { nodes, .. }) = sys::policy_of(range.start) else {
        return false;
    };
    let mut found = false;
    in_batches(range.clone().step_by(sys::page_size()), |pages| {
        let mut on = [-1; BATCH];
        let on = &mut on[..pages.len()];
        let asked = sys::nodes_of(pages, on);
        found = asked.is_ok() && on.iter().any(|on| *on >= 0 && !is_one_of(*on, &nodes));
        asked.is_ok() && !found
    });
    found
}

/// Has the pages of a range, of a size, take turns on nodes after so many bytes,
/// as they would have if they had not been there before.
fn take_turns(range: Range<usize>, (page, turn): (usize, usize), nodes: &Nodes) {
    let count = nodes.count().max(1);
    let node_for = |page: usize| nodes.iter().nth(page / turn % count).unwrap_or(0);
    let first = range.start.next_multiple_of(page);
    in_batches((first..range.end).step_by(page), |pages| {
        let mut to = [0; BATCH];
        for (to, page) in to.iter_mut().zip(pages) {
            *to = c_int::try_from(node_for(*page)).unwrap_or(0);
        }
        // SAFETY: memory of ours, in the program's use; what cannot be moved
        // stays, as the policy allows.
        let _ = unsafe { sys::move_pages(pages, &to[..pages.len()], &mut [0; BATCH]) };
        true
    });
}

/// Calls `each` for every extent that a range meets, with its part of it and
/// the nodes of the range's policy.
fn for_extents(range: &Range<usize>, mut each: impl FnMut(&Extent, Range<usize>, &Nodes)) {
    let Ok(Policy { nodes, .. }) = sys::policy_of(range.start) else {
        return;
    };
    index::look(|| {
        for extent in index::extents() {
            let start = range.start.max(extent.base);
            let end = range.end.min(extent.base + extent.len);
            if start < end {
                each(extent, start..end, &nodes);
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

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
        assert_eq!(wanted(2 | 1 << 15, 8, 64).plain_mode(), libc::MPOL_BIND);
    }

    #[test]
    fn batches_hold_all_and_can_be_cut_short() {
        let mut all = Vec::new();
        in_batches(0..150, |batch| {
            all.extend_from_slice(batch);
            true
        });
        assert!(all.into_iter().eq(0..150));
        let mut calls = 0;
        in_batches(0..150, |_| {
            calls += 1;
            calls < 2
        });
        assert_eq!(calls, 2);
    }
}
