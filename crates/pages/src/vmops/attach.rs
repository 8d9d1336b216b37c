//! System V segments: `shmat`, `shmdt`, and by which number the kernel knows
//! one.

use core::ffi::c_int;

use super::anon;
use super::map_shared::advise;
use super::step_down::{can_replace_segment, replace_segment};
use crate::config;
use crate::extent::{mlocked, page_sizes};
use crate::fork;
use crate::policy::first_look;
use crate::registry::region::Backing;
use crate::registry::shared::{Open, has_any, open};
use crate::registry::sysv::{On, Segment};
use crate::sys::{self, Errno, Result};

/// `shmat(2)` of a segment that this process has made; `None` for others.
pub fn shmat(id: c_int, addr: usize, flags: c_int) -> Option<Result<usize>> {
    if replaces(addr, flags) {
        if let Err(error) = before_replaced(id, addr, flags) {
            return Some(Err(error));
        }
    }
    if matches!(open().living_segment(id)?.on, On::Huge(_)) {
        fork::watch();
    }
    let mut open = open();
    let segment = open.living_segment(id)?;
    let result = match segment.on {
        On::HugeByItself => return None,
        On::Ordinary => {
            let at = sys::shmat(segment.now, addr, flags);
            if let (Ok(at), Ok(state)) = (at, sys::shm_state(segment.now)) {
                if replaces(addr, flags) {
                    shared_replaced(&mut open, at, size_of(segment.now));
                }
                advise(at, state.size);
            }
            at
        }
        On::Huge(page) => attach_huge(&mut open, segment, page, (addr, flags)),
    };
    drop(open);
    if let Some(at) = result.ok().filter(|_| replaces(addr, flags)) {
        others_replaced(at, size_of(number(id)));
    }
    Some(result)
}

/// Whether a call has the segment take the place of what is there.
fn replaces(addr: usize, flags: c_int) -> bool {
    flags & libc::SHM_REMAP != 0 && addr != 0
}

/// Before such a call: see [`super::before_fixed`].
fn before_replaced(id: c_int, addr: usize, flags: c_int) -> Result<()> {
    let at = match flags & libc::SHM_RND {
        0 => addr,
        _ => addr / sys::page_size() * sys::page_size(),
    };
    super::before_fixed(at, size_of(number(id)), |_| {
        let elsewhere = flags & !(libc::SHM_REMAP | libc::SHM_RND);
        detach(sys::shmat(number(id), 0, elsewhere)?)?;
        let mut open = open();
        match open.living_segment(id).map(|segment| segment.on) {
            // Huge pages lie at multiples of their size.
            Some(On::Huge(page)) if at % page != 0 && !can_replace_segment(&mut open, id) => {
                Err(Errno(libc::EINVAL))
            }
            _ => Ok(()),
        }
    })
}

/// After it, for what was shared memory.
fn shared_replaced(open: &mut Open, at: usize, size: usize) {
    mlocked::cut(&(at..at + size));
    super::shared_replaced(open, &(at..at + size));
}

/// And for what was other memory.
fn others_replaced(at: usize, size: usize) {
    super::named_replaced(&(at..at + size));
    anon::gone(at, size);
}

fn size_of(now: c_int) -> usize {
    let size = sys::shm_state(now).map_or(0, |state| state.size);
    size.next_multiple_of(sys::page_size())
}

fn attach_huge(
    open: &mut Open,
    segment: Segment,
    page: usize,
    (addr, flags): (usize, c_int),
) -> Result<usize> {
    match sys::shmat(segment.now, addr, flags) {
        Ok(at) => {
            enter(open, segment.id, segment.now, (at, page, flags));
            Ok(at)
        }
        // Huge pages lie at multiples of their size.
        Err(Errno(libc::EINVAL)) if addr != 0 && can_replace_segment(open, segment.id) => {
            replace_segment(open, segment.id)?;
            let now = open.segment(segment.id).map_or(segment.now, |now| now.now);
            let at = sys::shmat(now, addr, flags)?;
            if replaces(addr, flags) {
                shared_replaced(open, at, size_of(now));
            }
            Ok(at)
        }
        failed => failed,
    }
}

fn enter(open: &mut Open, id: c_int, now: c_int, (at, page, flags): (usize, usize, c_int)) {
    let Ok(state) = sys::shm_state(now) else {
        return;
    };
    let len = state.size.next_multiple_of(sys::page_size());
    let shape = (len, len.next_multiple_of(page), page);
    let mut prot = libc::PROT_READ;
    if flags & libc::SHM_RDONLY == 0 {
        prot |= libc::PROT_WRITE;
    }
    if flags & libc::SHM_EXEC != 0 {
        prot |= libc::PROT_EXEC;
    }
    if replaces(at, flags) {
        shared_replaced(open, at, len);
    }
    mlocked::came(&(at..at + len));
    // Without a place it is left to the kernel.
    let _ = open.enter(at, shape, prot, Backing::Segment(id, flags));
}

/// After `shmat(2)` of a segment that another process has made: it is on huge
/// pages where that one runs under hugectl, too.
pub fn attached(id: c_int, at: usize, flags: c_int) {
    if replaces(at, flags) {
        super::after_fixed(at, size_of(id));
        anon::gone(at, size_of(id));
    }
    let Some(page) = config::get().shm.and_then(page_sizes::asked_size) else {
        return;
    };
    first_look::take();
    if at % page != 0 || !is_on_huge_pages(at) {
        return;
    }
    fork::watch();
    let mut open = open();
    let is_asked = |segment: Segment| segment.on == On::HugeByItself;
    if open.segment(id).is_some_and(is_asked) {
        return;
    }
    enter(&mut open, id, id, (at, page, flags));
}

/// Whether hugetlb pages stand behind memory: the kernel is asked to leave its
/// second base page as it is, and takes no such question for a part of a huge
/// page (since Linux 5.16).
#[expect(unsafe_code, reason = "asks the kernel about memory by address")]
fn is_on_huge_pages(at: usize) -> bool {
    let page = sys::page_size();
    // SAFETY: neither the place nor the length changes.
    let asked = unsafe { sys::mremap(at + page, page, page, 0, 0) };
    asked == Err(Errno(libc::EINVAL))
}

/// `shmdt(2)` of a segment on huge pages; `None` for others.
pub fn shmdt(addr: usize) -> Option<Result<()>> {
    if !has_any() {
        return None;
    }
    let mut open = open();
    let is_segment = |backing: Backing| matches!(backing, Backing::Segment(..));
    let found = open.find(|region| is_segment(region.backing) && region.beginning() == addr)?;
    let result = detach(addr);
    if result.is_ok() {
        mlocked::cut(&(addr..addr + found.whole));
        while let Some(piece) = open.find(|piece| piece.origin == found.origin) {
            open.update(piece.base, None);
        }
    }
    Some(result)
}

#[expect(unsafe_code, reason = "detaches a segment")]
fn detach(addr: usize) -> Result<()> {
    // SAFETY: the program detaches it, or we have attached it.
    unsafe { sys::shmdt(addr) }
}

/// Notes a segment that was made just now.
pub fn made(id: c_int, on: On, is_private: bool) {
    open().enter_segment(id, on, is_private);
}

/// The number by which the kernel knows a segment.
pub fn number(id: c_int) -> c_int {
    if config::get().shm.is_none() {
        return id;
    }
    open().segment(id).map_or(id, |segment| segment.now)
}
