//! Private hugetlb memory that a program asked for by name, through
//! `get_huge_pages`: all of it of one page size, or none.
//!
//! It keeps the promises of the heap's hugetlb memory, by the same means.
//!
//! * It is mapped without a reservation and populated before it is handed out:
//!   what a pool, a control group, a cpuset or a memory policy does not give is
//!   an error to the caller. A reservation would be worse than none: when the
//!   pool is exhausted and a forked process writes first, the kernel takes the
//!   page away from its child, which nothing can mend.
//! * Before a fork it moves down to ordinary memory where it can ([`crate::fork`]);
//!   then parent and child may both write all of it. Left alone is what needs no page for a copy: memory that the program
//!   has closed to writing (it moves when it is opened again), and memory that
//!   it keeps from children by `MADV_DONTFORK`, as drivers for RDMA do with what
//!   devices write to.
//! * What the program does to the memory is done with whole huge pages, as the
//!   kernel does it; see [`change`](super::change).
#![expect(unsafe_code, reason = "maps memory for the program")]

use core::ffi::c_int;
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::extent::page_sizes::Layout;
use crate::extent::slice_bitmap::SLICE;
use crate::extent::unit::{State, Unit};
use crate::extent::{Extent, Holds, address_space, index};
use crate::kernel::{hugetlb_pool, populate};
use crate::rt::fork_gate;
use crate::rt::lock::Lock;
use crate::rt::turn::Turn;
use crate::sys::{self, Errno, Result};

/// Where the pages come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Source {
    /// The pool.
    Pool,
    /// A file on a hugetlbfs, which stays empty.
    File(c_int),
}

/// One that changes or frees at a time.
static TURN: Lock = Lock::new();

/// How many there are: programs without any pay one load.
static COUNT: AtomicUsize = AtomicUsize::new(0);

pub(super) fn turn() -> Turn {
    Turn::take(&TURN)
}

/// All extents of this kind. They go away in somebody's turn only.
pub(super) fn extents() -> impl Iterator<Item = &'static Extent> {
    let none = COUNT.load(Ordering::Acquire) == 0;
    index::regions().take_while(move |_| !none)
}

/// Hands out `len` bytes, up to whole pages of the size `page`.
///
/// # Errors
/// `EINVAL` for a length of 0 or a size that no pages have, else `ENOMEM`: not
/// all pages could be had.
pub fn hand_out(len: usize, page: usize, source: Source) -> Result<usize> {
    let no_memory = Errno(libc::ENOMEM);
    if len == 0 || page < SLICE || !page.is_power_of_two() {
        return Err(Errno(libc::EINVAL));
    }
    let len = len.checked_next_multiple_of(page).ok_or(no_memory)?;
    // A mount may have pages of its own, which the pool counts as reserved.
    if source == Source::Pool && hugetlb_pool::lacks(page, len / page) {
        return Err(no_memory);
    }
    let _pass = fork_gate::GATE.pass();
    let base = address_space::reserve_elsewhere(len, page).map_err(|_| no_memory)?;
    if fill(base, len, page, source).is_err() {
        // SAFETY: reserved above and known to nobody.
        let _ = unsafe { sys::munmap(base, len) };
        return Err(no_memory);
    }
    Ok(base)
}

/// Enters reserved address space and puts pages there.
fn fill(base: usize, len: usize, page: usize, source: Source) -> Result<()> {
    let layout = Layout {
        unit: page,
        huge: true,
        big: 0,
    };
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let extent = index::adopt(base..base + len, layout, Holds::Region, prot)?;
    let result = match source {
        // SAFETY: reserved for this.
        Source::Pool => unsafe { hugetlb_pool::map_private_over(base, len, page) },
        // SAFETY: reserved for this.
        Source::File(fd) => unsafe { hugetlb_pool::map_file_over(base, len, fd) },
    };
    let result = match result {
        // SAFETY: mapped just now, and zero.
        Ok(()) => unsafe { populate::populate(base, len, page) },
        failed => failed,
    };
    if let Err(error) = result {
        let _turn = turn();
        index::destroy(extent);
        return Err(error);
    }
    let slices = u32::try_from(page / SLICE).unwrap_or(0);
    for unit in extent.units() {
        unit.publish(State::Huge, slices);
    }
    COUNT.fetch_add(1, Ordering::Release);
    Ok(())
}

/// Takes back what begins at an address, or, where `shifted`, has it in its
/// first page: all that is left of it. `false` where there is nothing.
pub fn take_back(addr: usize, shifted: bool) -> bool {
    let _turn = turn();
    let begins = |extent: &&Extent| match shifted {
        true => addr.wrapping_sub(extent.base) < extent.layout.unit,
        false => addr == extent.base,
    };
    // Where its beginning was unmapped, another may be there by now.
    let whole = extents().find(|extent| begins(extent) && extent.contains(addr));
    let Some(extent) = whole.or_else(|| extents().find(begins)) else {
        return false;
    };
    clear(extent);
    forget(extent);
    true
}

/// Unmaps all that is left of an extent.
fn clear(extent: &Extent) {
    let units = extent.units();
    let is_gone = |unit: &usize| units[*unit].settled().0 == State::Gone;
    let mut at = 0;
    while let Some(start) = (at..units.len()).find(|unit| !is_gone(unit)) {
        at = (start..units.len()).find(is_gone).unwrap_or(units.len());
        // A fork may be copying them for its child.
        units[start..at].iter().for_each(Unit::hold);
        leave(extent, start..at);
        let (addr, end) = (extent.address(start), extent.address(at));
        // SAFETY: the program has given it back.
        let _ = unsafe { sys::munmap(addr, end - addr) };
    }
}

pub(super) fn leave(extent: &Extent, units: Range<usize>) {
    for unit in &extent.units()[units] {
        unit.publish(State::Gone, 0);
    }
}

pub(super) fn forget(extent: &'static Extent) {
    COUNT.fetch_sub(1, Ordering::Release);
    index::destroy(extent);
}

/// Before a fork: what is closed to writing will be shared.
pub(crate) fn lend() {
    change_all(|state| match state {
        State::Shut => State::Lent,
        other => other,
    });
}

/// In the child of a fork: what was kept from children is not there.
pub(crate) fn leave_behind() {
    change_all(|state| match state {
        state if state.is_kept_apart() => State::Gone,
        other => other,
    });
}

fn change_all(change: impl Fn(State) -> State) {
    for unit in extents().flat_map(|extent| extent.units()) {
        let (state, used) = unit.load();
        if change(state) != state {
            unit.publish(change(state), used);
        }
    }
}
