//! `mremap` of what the kernel has in parts, since huge pages were advised for some of it
//! and not for others: a small mapping beside a large one, what was opened while there was
//! little memory. Plainly it is one mapping, which a call may move and make longer; of
//! several, the kernel answers `EFAULT`.
//!
//! That is done here where all parts are alike but for such advice, and each border was
//! noted when it came to be: [`borders`]. Parts that were touched since are no longer
//! joined by the kernel, and are moved one by one. A border that lies in any run stays one,
//! and the answer `EFAULT`, as of two mappings that were filled before the gap between
//! them was closed.
//!
//! **What is not one step**, as it is in a kernel: other threads can see the first parts at
//! the old place and the last ones at the new one, for as long as the moves take, some
//! microseconds each. What grows where it is, or becomes one by advice, is one step.
//! Signals are blocked meanwhile, and a fork waits.
//!
//! **What fails leaves all where it was.** The place is reserved before, the part that
//! grows is moved first, since limits forbid growth only, and a process near its number of
//! mappings is refused at once. Where the program names the place, what was there is gone,
//! as a kernel has it.
#![expect(unsafe_code, reason = "moves mappings for the program")]

use core::ffi::c_int;
use core::ops::Range;

use super::call::{advise, is_active, range};
use super::remap::remapped;
use crate::extent::address_space;
use crate::kernel::alike::{self, Parts};
use crate::kernel::{facts, procfile};
use crate::policy::thp;
use crate::registry::anon::{self as registry, Known};
use crate::registry::borders;
use crate::rt::fork_gate::GATE;
use crate::sys::{self, Errno, Result};
use crate::vmops::remap::call::{Call, MREMAP_DONTUNMAP};
use crate::vmops::remap::trial::try_move;

const EFAULT: Errno = Errno(libc::EFAULT);
const ENOMEM: Errno = Errno(libc::ENOMEM);

/// So many mappings the kernel wants to be free for a move.
const SPARE: usize = 4;

/// How it is moved to a place that is named.
const THERE: c_int = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;

/// After the kernel has answered `EFAULT` to `mremap`: does it part by part. `None` where
/// that is the answer plainly, or it cannot be told. `make_way` is called before anything goes
/// where something of ours may lie.
pub fn in_parts(call: &Call, make_way: impl FnOnce() -> Result<()>) -> Option<Result<usize>> {
    if !is_active() || call.addr % sys::page_size() != 0 {
        return None;
    }
    let old = range(call.addr, call.old_len).filter(|old| !old.is_empty())?;
    let len = call.new_len.checked_next_multiple_of(sys::page_size())?;
    // A shorter one in its place is cut by the kernel, whatever it consists of.
    let is_meant = len > old.len() || len > 0 && call.flags & !libc::MREMAP_MAYMOVE != 0;
    let kept = old.start..old.start + old.len().min(len);
    if !is_meant || !borders::is_any_within(&kept) {
        return None;
    }
    let can = procfile::look(|| Some(Task::of(call, &old, len)?.can_grow()))?;
    if let Err(error) = can.and_then(|()| make_way()) {
        return Some(Err(error));
    }
    let done = procfile::look(|| Task::of(call, &old, len)?.run());
    if let Some(Ok(now)) = done {
        let is_advised = thp::serves(len).is_ok();
        remapped(call, now);
        if is_advised && now == kept.start {
            borders::note(now);
        }
        registry::enter(&Known {
            range: now..now + len,
            is_advised,
        });
    }
    done
}

/// A call whose old range consists of parts.
struct Task<'c> {
    call: &'c Call,
    old: &'c Range<usize>,
    parts: Parts,
    /// What of it is moved: as much as it is to be long.
    kept: Range<usize>,
    len: usize,
}

impl<'c> Task<'c> {
    fn of(call: &'c Call, old: &'c Range<usize>, len: usize) -> Option<Task<'c>> {
        let kept = old.start..old.start + old.len().min(len);
        let parts = alike::parts(&kept)?;
        let are_ours = parts.borders().all(borders::is_noted);
        (are_ours && parts.borders().next().is_some()).then_some(Task {
            call,
            old,
            parts,
            kept,
            len,
        })
    }

    fn keeps_old(&self) -> bool {
        self.call.flags & MREMAP_DONTUNMAP != 0
    }

    /// The part that grows.
    fn last(&self) -> Range<usize> {
        let last = self.parts.iter().next_back();
        last.unwrap_or(self.kept.clone())
    }

    /// Whether the last part may become as long as the call has it, before what lies at a
    /// place that is named goes for that.
    fn can_grow(&self) -> Result<()> {
        let last = self.last();
        let call = Call {
            addr: last.start,
            old_len: last.len(),
            new_len: self.len - (last.start - self.kept.start),
            ..*self.call
        };
        match call.is_fixed() && call.new_len > call.old_len {
            true => try_move(&call),
            false => Ok(()),
        }
    }

    fn run(&self) -> Option<Result<usize>> {
        let _pass = GATE.pass();
        // Parts of which none or one was touched become one by that.
        if thp::serves(self.len).is_ok() {
            advise(self.kept.start, self.kept.len());
            // SAFETY: what the program asked for.
            match unsafe { self.call.pass_on() } {
                Err(EFAULT) => {}
                done => return Some(done),
            }
        }
        // Neither is it known how the parts lie now.
        let now = Task::of(self.call, self.old, self.len)?;
        Some(now.move_all())
    }

    fn move_all(&self) -> Result<usize> {
        let is_placed = self.call.is_fixed() || self.keeps_old();
        if !is_placed {
            match self.grow_there() {
                Err(ENOMEM) if self.call.flags & libc::MREMAP_MAYMOVE != 0 => {}
                done => return done,
            }
        }
        if !alike::has_room(2 * self.parts.iter().count() + SPARE) {
            return Err(ENOMEM);
        }
        let to = self.place()?;
        self.move_to(to)?;
        if self.old.end > self.kept.end {
            // SAFETY: the program makes it so much shorter.
            unsafe { sys::munmap(self.kept.end, self.old.end - self.kept.end)? };
        }
        Ok(to)
    }

    fn grow_there(&self) -> Result<usize> {
        let last = self.last();
        let len = self.len - (last.start - self.kept.start);
        // SAFETY: the program's mapping grows where it is.
        unsafe { sys::mremap(last.start, last.len(), len, 0, 0) }.map(|_| self.kept.start)
    }

    /// Where it is to be. What the program has there goes as its part comes.
    fn place(&self) -> Result<usize> {
        let hint = self.call.new_addr / sys::page_size() * sys::page_size();
        if self.call.is_fixed() {
            return Ok(hint);
        }
        let is_named = self.keeps_old() && hint != 0;
        if is_named && address_space::reserve_at(hint, self.len).is_ok() {
            return Ok(hint);
        }
        address_space::reserve_elsewhere(self.len, facts::thp_size())
    }

    /// The last one first.
    fn move_to(&self, to: usize) -> Result<()> {
        let last = self.last();
        let keep = self.call.flags & MREMAP_DONTUNMAP;
        let at = |part: &Range<usize>| to + (part.start - self.kept.start);
        let grown = to + self.len - at(&last);
        let others = || self.parts.iter().filter(|part| *part != last);
        let all = [(last.clone(), grown)].into_iter();
        let all = || {
            all.clone()
                .chain(others().map(|part| (part.clone(), part.len())))
        };
        let mut done = 0;
        for (part, len) in all() {
            // SAFETY: the program moves it there, where nothing is or what it replaces.
            match unsafe { sys::mremap(part.start, part.len(), len, THERE | keep, at(&part)) } {
                Ok(_) => done += 1,
                Err(error) => {
                    let back = all().take(done);
                    let left = back.filter(|(part, len)| !self.put_back(part, at(part), *len));
                    if left.count() == 0 && !self.call.is_fixed() {
                        address_space::release(to, self.len);
                    }
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// Moves a part back, unless another thread has mapped something there: whether it is
    /// there again.
    fn put_back(&self, part: &Range<usize>, from: usize, len: usize) -> bool {
        let is_free = self.keeps_old() || address_space::reserve_at(part.start, part.len()).is_ok();
        // SAFETY: it was there, and nothing else is.
        is_free && unsafe { sys::mremap(from, len, part.len(), THERE, part.start) }.is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RW: c_int = libc::PROT_READ | libc::PROT_WRITE;
    const MAYMOVE: c_int = libc::MREMAP_MAYMOVE;

    fn page() -> usize {
        sys::page_size()
    }

    const PRIVATE: c_int = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

    fn map(at: usize, pages: usize, prot: c_int, flags: c_int) -> usize {
        // SAFETY: a new mapping, or one over memory of the test.
        unsafe { sys::mmap(at, pages * page(), prot, PRIVATE | flags, -1, 0) }.unwrap()
    }

    fn unmap(at: usize, pages: usize) {
        // SAFETY: memory of the test.
        unsafe { sys::munmap(at, pages * page()) }.unwrap();
    }

    /// Memory that the kernel has in parts of two, one and three pages, all touched, with
    /// two free pages behind; they hold 1 to 6.
    fn parted() -> Range<usize> {
        let at = map(0, 16, libc::PROT_NONE, 0) + 4 * page();
        map(at, 6, RW, libc::MAP_FIXED);
        unmap(at + 6 * page(), 2);
        advise(at, 2 * page());
        advise(at + 3 * page(), 3 * page());
        for number in 0..6 {
            // SAFETY: memory of the test.
            unsafe { ((at + usize::from(number) * page()) as *mut u8).write(number + 1) };
        }
        at..at + 6 * page()
    }

    fn contents(at: usize, pages: usize) -> Vec<u8> {
        // SAFETY: memory of the test.
        let read = |number| unsafe { ((at + number * page()) as *const u8).read() };
        (0..pages).map(read).collect()
    }

    fn task(old: &Range<usize>, new_len: usize, flags: c_int, new_addr: usize) -> Result<usize> {
        let (addr, old_len) = (old.start, old.len());
        let call = Call {
            addr,
            old_len,
            new_len,
            flags,
            new_addr,
        };
        // SAFETY: memory of the test.
        assert_eq!(unsafe { call.pass_on() }, Err(EFAULT));
        let kept = old.start..old.start + old_len.min(new_len);
        let parts = alike::parts(&kept).unwrap();
        let task = Task {
            call: &call,
            old,
            parts,
            kept,
            len: new_len,
        };
        task.move_all()
    }

    #[test]
    fn the_last_part_grows_where_there_is_room() {
        let old = parted();
        let now = task(&old, 8 * page(), 0, 0);
        assert_eq!(now, Ok(old.start));
        assert_eq!(contents(old.start, 8), [1, 2, 3, 4, 5, 6, 0, 0]);
        let old = parted();
        assert_eq!(task(&old, 9 * page(), 0, 0), Err(ENOMEM));
        assert_eq!(contents(old.start, 6), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn all_move_together() {
        let old = parted();
        let now = task(&old, 9 * page(), MAYMOVE, 0).unwrap();
        assert_eq!(contents(now, 9), [1, 2, 3, 4, 5, 6, 0, 0, 0]);
        assert!(now != old.start && address_space::reserve_at(old.start, old.len()).is_ok());
    }

    #[test]
    fn to_a_place_that_is_named_longer_or_shorter() {
        for (pages, held) in [(7, &[1, 2, 3, 4, 5, 6, 0][..]), (5, &[1, 2, 3, 4, 5])] {
            let (old, to) = (parted(), parted().start);
            let now = task(&old, pages * page(), THERE, to);
            assert_eq!(now, Ok(to));
            assert_eq!(contents(to, pages), held);
            assert!(address_space::reserve_at(old.start, old.len()).is_ok());
        }
    }

    #[test]
    fn the_old_place_stays_empty_where_that_is_asked() {
        let old = parted();
        let now = task(&old, old.len(), MAYMOVE | MREMAP_DONTUNMAP, 0).unwrap();
        assert_eq!(contents(now, 6), [1, 2, 3, 4, 5, 6]);
        assert_eq!(contents(old.start, 6), [0; 6]);
    }

    #[test]
    fn what_was_moved_is_put_back() {
        let old = parted();
        let flags = THERE;
        let (addr, old_len, new_len) = (old.start, old.len(), old.len() + page());
        let to = parted().start;
        let call = Call {
            addr,
            old_len,
            new_len,
            flags,
            new_addr: to,
        };
        let parts = alike::parts(&old).unwrap();
        // The second part cannot be moved.
        unmap(old.start + 2 * page(), 1);
        let task = Task {
            call: &call,
            old: &old,
            parts,
            kept: old.clone(),
            len: new_len,
        };
        assert_eq!(task.move_all(), Err(EFAULT));
        assert_eq!(contents(old.start, 2), [1, 2]);
        assert_eq!(contents(old.start + 3 * page(), 3), [4, 5, 6]);
    }

    /// The last part is gone by then.
    #[test]
    fn what_cannot_grow_is_told_before_anything_moves() {
        let (old, to) = (parted(), parted().start);
        let call = Call {
            addr: old.start,
            old_len: old.len(),
            new_len: old.len() + page(),
            flags: THERE,
            new_addr: to,
        };
        let task = Task {
            call: &call,
            old: &old,
            parts: alike::parts(&old).unwrap(),
            kept: old.clone(),
            len: call.new_len,
        };
        assert_eq!(task.can_grow(), Ok(()));
        unmap(old.start + 3 * page(), 3);
        assert_eq!(task.can_grow(), Err(EFAULT));
        assert_eq!(contents(old.start, 3), [1, 2, 3]);
        assert_eq!(contents(to, 6), [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn nothing_is_done_that_nobody_asked_for() {
        let old = parted();
        let call = Call {
            addr: old.start,
            old_len: old.len(),
            new_len: 2 * old.len(),
            flags: MAYMOVE,
            new_addr: 0,
        };
        assert_eq!(in_parts(&call, || Ok(())), None);
    }
}
