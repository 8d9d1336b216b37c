//! Ordinary memory that was handed out where huge pages could not be had. A
//! fork needs nothing for it; what is kept is where each part begins and ends,
//! so that all of it can be freed by its first address.
#![expect(unsafe_code, reason = "maps memory and keeps a list in it")]

use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::extent::address_space;
use crate::kernel::facts;
use crate::policy::thp;
use crate::rt::lock::Lock;
use crate::rt::turn::Turn;
use crate::sys::{self, Errno, Result};

/// A part of what was handed out; more than one where the program has unmapped
/// something within.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    /// Which hand-out it is a part of; 0 for an unused place.
    of: usize,
    /// The first address of what was handed out.
    first: usize,
    /// How far behind it a pointer may lie that still means all of it.
    reach: usize,
    start: usize,
    end: usize,
}

const UNUSED: Part = Part {
    of: 0,
    first: 0,
    reach: 0,
    start: 0,
    end: 0,
};

/// Places that are mapped at once: a page of them.
const PLACES: usize = 4096 / size_of::<Part>() - 1;

/// A page of the list.
struct Leaf {
    next: Option<&'static mut Leaf>,
    parts: [Part; PLACES],
}

/// The list and the lock that guards it.
struct List {
    lock: Lock,
    first: core::cell::UnsafeCell<Option<&'static mut Leaf>>,
}

// SAFETY: the list is reached through `Open` only, which holds the lock.
unsafe impl Sync for List {}

static LIST: List = List {
    lock: Lock::new(),
    first: core::cell::UnsafeCell::new(None),
};

/// How many parts there are: programs without any pay one load.
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// The list, open to this thread alone.
struct Open(#[expect(dead_code, reason = "held until it is dropped")] Turn);

fn open() -> Open {
    Open(Turn::take(&LIST.lock))
}

impl Open {
    fn first(&mut self) -> &mut Option<&'static mut Leaf> {
        // SAFETY: the lock is held for as long as `self` lives.
        unsafe { &mut *LIST.first.get() }
    }

    /// Calls `each` for every part, until it says that it is enough.
    fn visit(&mut self, mut each: impl FnMut(&mut Part) -> bool) -> bool {
        let mut leaf = self.first().as_deref_mut();
        while let Some(now) = leaf {
            if now.parts.iter_mut().any(&mut each) {
                return true;
            }
            leaf = now.next.as_deref_mut();
        }
        false
    }

    /// Enters a part.
    fn enter(&mut self, part: Part) -> Result<()> {
        let put = |place: &mut Part| {
            let free = place.of == 0;
            if free {
                *place = part;
            }
            free
        };
        if !self.visit(put) {
            let new = Leaf::map()?;
            new.parts[0] = part;
            let first = self.first();
            new.next = first.take();
            *first = Some(new);
        }
        COUNT.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Takes out a part that `wanted` picks.
    fn take(&mut self, wanted: impl Fn(&Part) -> bool) -> Option<Part> {
        let mut taken = None;
        self.visit(|part| {
            let found = part.of != 0 && wanted(part);
            if found {
                taken = Some(core::mem::replace(part, UNUSED));
            }
            found
        });
        if taken.is_some() {
            COUNT.fetch_sub(1, Ordering::Release);
        }
        taken
    }
}

impl Leaf {
    fn map() -> Result<&'static mut Leaf> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        let at = unsafe { sys::mmap(0, size_of::<Leaf>(), prot, flags, -1, 0)? };
        // SAFETY: all bits zero are a leaf of unused places without a next one,
        // and nobody else has this mapping.
        Ok(unsafe { &mut *(at as *mut Leaf) })
    }
}

/// Hands out `len` bytes, up to whole base pages; on transparent huge pages
/// where they are the fallback. Where they begin, and how many they are.
///
/// # Errors
/// `EINVAL` for a length of 0, else `ENOMEM`.
pub fn hand_out(len: usize) -> Result<(usize, usize)> {
    let no_memory = Errno(libc::ENOMEM);
    if len == 0 {
        return Err(Errno(libc::EINVAL));
    }
    let len = len
        .checked_next_multiple_of(sys::page_size())
        .ok_or(no_memory)?;
    let huge = thp::is_fallback_for(len);
    let align = match huge {
        true => facts::thp_size(),
        false => sys::page_size(),
    };
    // With a reservation of address space, so that `ulimit -v` and
    // `vm.overcommit_memory` are an error here.
    let start = address_space::reserve_elsewhere(len, align).map_err(|_| no_memory)?;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: reserved just now.
    let mapped = unsafe { sys::mmap(start, len, prot, flags, -1, 0) };
    if mapped.is_err() || note(start..start + len, sys::page_size()).is_err() {
        // SAFETY: reserved above and known to nobody.
        let _ = unsafe { sys::munmap(start, len) };
        return Err(no_memory);
    }
    if huge {
        // SAFETY: mapped just now.
        unsafe { thp::advise(start, len) };
    }
    Ok((start, len))
}

/// Enters memory that somebody else has handed out in our name. Pointers into
/// its first page mean all of it.
///
/// # Errors
/// `ENOMEM`: there is no memory for the list.
pub fn note(range: Range<usize>, page: usize) -> Result<()> {
    static LAST: AtomicUsize = AtomicUsize::new(0);
    open().enter(Part {
        of: LAST.fetch_add(1, Ordering::Relaxed) + 1,
        first: range.start,
        reach: page,
        start: range.start,
        end: range.end,
    })
}

/// Frees what was handed out with this first address, or, where `shifted`, with
/// this one in its first page; `false` where there is nothing.
pub fn take_back(addr: usize, shifted: bool) -> bool {
    if COUNT.load(Ordering::Acquire) == 0 {
        return false;
    }
    let mut open = open();
    let Some(meant) = open.meant_by(addr, shifted) else {
        return false;
    };
    while let Some(part) = open.take(|part| part.of == meant) {
        // SAFETY: the program has given it back.
        let _ = unsafe { sys::munmap(part.start, part.end - part.start) };
    }
    true
}

impl Open {
    /// Which hand-out a pointer means. Where the beginning of one was unmapped,
    /// another may be there by now: that one is meant.
    fn meant_by(&mut self, addr: usize, shifted: bool) -> Option<usize> {
        let (mut meant, mut holds) = (None, false);
        self.visit(|part| {
            let reach = if shifted { part.reach } else { 1 };
            if part.of != 0 && (part.first..part.first + reach).contains(&addr) {
                holds = (part.start..part.end).contains(&addr);
                meant = Some(part.of);
            }
            holds
        });
        meant
    }
}

/// Whether a range holds memory of this kind.
pub fn meets(range: &Range<usize>) -> bool {
    COUNT.load(Ordering::Acquire) != 0 && open().visit(|part| overlaps(part, range))
}

fn overlaps(part: &Part, range: &Range<usize>) -> bool {
    part.start < range.end && range.start < part.end
}

/// Notes that the program has unmapped a range.
pub fn cut(range: &Range<usize>) {
    if COUNT.load(Ordering::Acquire) == 0 {
        return;
    }
    let mut open = open();
    while let Some(part) = open.take(|part| overlaps(part, range)) {
        let before = Part {
            end: range.start,
            ..part
        };
        let after = Part {
            start: range.end,
            ..part
        };
        for rest in [before, after] {
            if rest.start < rest.end {
                // There is a place: one was taken. For the second half of a
                // part there may be none; then that half is never freed.
                let _ = open.enter(rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    fn page() -> usize {
        sys::page_size()
    }

    #[test]
    fn what_is_handed_out_is_taken_back_once() {
        let (at, len) = hand_out(10 * MIB + 1).unwrap();
        assert_eq!(len, 10 * MIB + page());
        assert_eq!(at % facts::thp_size(), 0);
        assert!(meets(&(at + 10 * MIB..at + 10 * MIB + 1)));
        assert!(!take_back(at + page(), true) && !take_back(at + 1, false));
        assert!(take_back(at + 1, true));
        assert!(!take_back(at, true) && !meets(&(at..at + 1)));
        assert_eq!(hand_out(0), Err(Errno(libc::EINVAL)));
        assert_eq!(hand_out(usize::MAX - 4096), Err(Errno(libc::ENOMEM)));
    }

    #[test]
    fn a_hole_stays_a_hole() {
        let (at, _) = hand_out(8 * page()).unwrap();
        let hole = at + 2 * page()..at + 3 * page();
        // SAFETY: memory of the test.
        unsafe { sys::munmap(hole.start, hole.len()).unwrap() };
        cut(&hole);
        assert!(!meets(&hole) && meets(&(at..hole.start)) && meets(&(hole.end..hole.end + 1)));
        cut(&(at..at + page()));
        // The first address still names what is left.
        assert!(take_back(at, false));
        assert!(!meets(&(at..at + 8 * page())));
    }

    #[test]
    fn a_pointer_means_what_is_there_now() {
        let (old, _) = hand_out(4 * page()).unwrap();
        let head = old..old + page();
        cut(&head);
        // What others have put into the place of its beginning.
        note(head.clone(), page()).unwrap();
        assert!(take_back(old + 1, true));
        assert!(!meets(&head) && meets(&(old + page()..old + 2 * page())));
        assert!(take_back(old + 1, true));
        assert!(!take_back(old, true));
    }

    #[test]
    fn there_may_be_many() {
        let all: Vec<usize> = (0..3 * PLACES).map(|_| hand_out(1).unwrap().0).collect();
        assert!(all.iter().all(|at| take_back(*at, true)));
    }
}
