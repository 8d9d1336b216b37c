//! Turning shared memory on hugetlb pages into ordinary shared memory, with the
//! same contents and access, on the same memory nodes, where no other process
//! can have it.
//!
//! A mapping becomes one of a new object, piece by piece. A System V segment
//! becomes another segment, under the number that the program knows: only one
//! without a key that no other process has attached. (A process that was told
//! its number and attaches it after this finds it removed.)
//!
//! The new object holds what holds something: base pages that are all zero are not there, as
//! those that nobody has touched are not in plain memory. Which of them the program had
//! written zeros to, or had filled as it was mapped, cannot be told; only a program that
//! watches for missing pages by `userfaultfd(2)` could, and it is told of these, too. For
//! such a one nothing else comes to be there, either: no advice is given. What is there is in
//! the page tables, as it was.
//!
//! Meanwhile nobody writes there: threads wait. A ring or a device does not, and goes on with
//! the pages that it was given: where there may be one, what is unmapped in part stays as it
//! is. Who waits for a word there comes along: see `waiters`.
#![expect(unsafe_code, reason = "replaces the program's memory")]

use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};

use super::map_shared::advise;
use crate::extent::mlocked;
use crate::kernel::pagemap::{self, Page};
use crate::kernel::{dma_users, facts, populate};
use crate::migrate::shield::Shield;
use crate::policy::numa_copy;
use crate::registry::born::Born;
use crate::registry::region::{Backing, Region};
use crate::registry::shared::Open;
use crate::registry::sysv::On;
use crate::rt::fork_gate::GATE;
use crate::sys::{self, Errno, NoSignals, PastLimit, Result, ShmState};

mod waiters;

use waiters::Words;

const READ_WRITE: i32 = libc::PROT_READ | libc::PROT_WRITE;

/// Memory that stays for others.
const MARGIN: usize = 64 << 20;

/// Whether a region can become ordinary memory.
pub(super) fn can_step_down(open: &mut Open, region: &Region) -> bool {
    is_alone(open, region) && has_room(region.whole)
}

fn is_alone(open: &mut Open, region: &Region) -> bool {
    match region.backing {
        Backing::Anonymous => !may_be_shared(region.born) && can_wait(),
        Backing::Segment(id, _) => can_replace_segment(open, id),
    }
}

/// Whether those that wait for the memory to change can come along.
fn can_wait() -> bool {
    // The program may have no descriptor to spare.
    let _past_limit = PastLimit::begin();
    waiters::can_move()
}

/// Whether a ring or a device may write to memory of the program's, by page and not by
/// address: what leaves its pages then goes without what comes later. Which memory that is
/// cannot be told; so only what can do without asks.
pub(super) fn may_be_written() -> bool {
    let _past_limit = PastLimit::begin();
    dma_users::may_write()
}

/// Whether another process shares what was born then, or is about to.
fn may_be_shared(born: Born) -> bool {
    GATE.is_closed_by_another() || born.may_have_heirs()
}

/// The same, for a call that would fail else: children of other threads, that
/// live for a moment only, are waited for. Not again and again in vain.
pub(super) fn can_step_down_soon(open: &mut Open, region: &Region) -> bool {
    const PATIENCE: usize = 100;
    const TRIES: u32 = 8;
    static IN_VAIN: AtomicU32 = AtomicU32::new(0);
    let mut is_alone = is_alone(open, region);
    if !is_alone && IN_VAIN.load(Ordering::Relaxed) < TRIES {
        is_alone = (0..PATIENCE).any(|_| {
            sys::sleep(1);
            self::is_alone(open, region)
        });
        IN_VAIN.fetch_add(1, Ordering::Relaxed);
    }
    if is_alone {
        IN_VAIN.store(0, Ordering::Relaxed);
    }
    is_alone && has_room(region.whole)
}

/// Whether it is known that there is memory for a copy.
fn has_room(len: usize) -> bool {
    facts::room_or_last().is_some_and(|room| room >= len.saturating_add(MARGIN))
}

/// Whether a segment can become one on ordinary memory: nobody else has it.
pub(super) fn can_replace_segment(open: &mut Open, id: i32) -> bool {
    let Some(segment) = open.segment(id) else {
        return false;
    };
    let is_ours = segment.is_private && matches!(segment.on, On::Huge(_));
    if !is_ours || may_be_shared(segment.born) {
        return false;
    }
    let (mut pieces, mut attached) = (0, 0);
    open.each(|region| {
        if is_of(region, id) {
            pieces += 1;
            attached += usize::from(region.offset == 0);
        }
    });
    // Writers can be kept out of one attachment at a time.
    let is_one = attached <= 1 || !facts::has_threads();
    let is_ours = || sys::shm_state(segment.now).is_ok_and(|state| state.attached == pieces);
    is_one && is_ours() && can_wait()
}

fn is_of(region: &Region, id: i32) -> bool {
    matches!(region.backing, Backing::Segment(of, _) if of == id)
}

/// Does it. What of it was entered before is not there afterwards.
///
/// # Errors
/// What has come between: what of it is entered still is as it was.
pub(super) fn step_down(open: &mut Open, region: Region) -> Result<()> {
    let result = match region.backing {
        Backing::Anonymous => with_shield(|shield| replace_mapping(open, &region, shield)),
        Backing::Segment(id, _) => replace_segment(open, id),
    };
    // As the kernel says it of huge pages.
    result.map_err(|error| match error {
        Errno(libc::EBUSY) => Errno(libc::EINVAL),
        error => error,
    })
}

/// Runs `work` with what keeps others from writing.
fn with_shield(work: impl FnOnce(&Shield) -> Result<()>) -> Result<()> {
    let _past_limit = PastLimit::begin();
    let _quiet = NoSignals::where_allowed();
    work(&Shield::best()?)
}

fn replace_mapping(open: &mut Open, region: &Region, shield: &Shield) -> Result<()> {
    let flags = libc::MAP_SHARED | libc::MAP_ANONYMOUS;
    // SAFETY: a new mapping.
    let map = |flags| unsafe { sys::mmap(0, region.whole, READ_WRITE, flags, -1, 0) };
    let aside = map(flags).or_else(|_| map(flags | libc::MAP_NORESERVE))?;
    advise(aside, region.whole);
    let mut result = Ok(());
    while let Some(piece) = open.find(|piece| piece.origin == region.origin) {
        result = replace_piece(&piece, piece.base, aside, shield);
        if result.is_err() {
            break;
        }
        find_again(&piece.known(), aside + piece.offset);
        open.update(piece.base, None);
    }
    // SAFETY: the pieces have mappings of their own.
    unsafe { sys::munmap(aside, region.whole)? };
    result
}

/// Puts the part of a new object, which is mapped at `aside`, in the place of a
/// piece, with the contents that are seen at `from`.
fn replace_piece(piece: &Region, from: usize, aside: usize, shield: &Shield) -> Result<()> {
    let readable = piece.prot | libc::PROT_READ;
    if readable != piece.prot {
        // SAFETY: the piece is ours to change, and no other process shares it.
        unsafe { sys::mprotect(piece.base, piece.mapped, readable)? };
    }
    exchange(piece, aside + piece.offset, shield, |words| {
        copy_what_is_there(from, aside + piece.offset, piece.len, piece.page);
        words.come_along(shield)?;
        put_over(piece, aside)
    })
}

/// Has `put` map something else where a piece is, while nobody writes to it; `new` is where
/// that is seen meanwhile. What the program has closed to writing is not opened for that: a
/// write there is the program's to learn of.
fn exchange(
    piece: &Region,
    new: usize,
    shield: &Shield,
    put: impl FnOnce(&mut Words) -> Result<()>,
) -> Result<()> {
    let mut words = Words::of(piece.known(), new);
    words.move_waiters()?;
    let put = || put(&mut words);
    let result = match piece.prot & libc::PROT_WRITE {
        0 => put(),
        // SAFETY: the piece is ours to change, and nobody else has it; a copy takes its place.
        _ => unsafe { shield.hold(&piece.mapped(), put) },
    };
    words.wake();
    if result.is_err() {
        // SAFETY: the access that the program gave it.
        let _ = unsafe { sys::mprotect(piece.base, piece.mapped, piece.prot) };
        return result;
    }
    settle(piece)
}

/// Copies shared memory to fresh memory on the same nodes.
fn copy_what_is_there(from: usize, to: usize, len: usize, page: usize) {
    // SAFETY: two mappings of this length, of which the first is not written.
    unsafe { numa_copy::copy_what_is_there(from, to, len, page) };
    // SAFETY: `to` is ours.
    unsafe { numa_copy::settle(from..from + len.next_multiple_of(page), to, page) };
}

/// Copies to what holds an earlier copy, on the same nodes.
fn copy_again(from: usize, to: usize, len: usize, page: usize) {
    // SAFETY: two mappings of this length, of which the first is not written.
    unsafe { numa_copy::copy_again(from, to, len, page) };
}

/// Has the page tables know what of a range is there, as seen at `aside`, and nothing else:
/// who watches for what they do not know is told only of that. Where the program may not
/// read nothing is found.
fn find_again(range: &Range<usize>, aside: usize) {
    let mut run = aside..aside;
    let find = |run: &Range<usize>| {
        if !run.is_empty() {
            let start = range.start + (run.start - aside);
            populate::for_reading(start, run.len(), sys::page_size());
        }
    };
    // Without `/proc` it is told of more than was missing.
    let _ = pagemap::scan(aside..aside + range.len(), |at, page| {
        if page != Page::File {
            return;
        }
        if run.end != at {
            find(&run);
            run.start = at;
        }
        run.end = at + sys::page_size();
    });
    find(&run);
}

/// Maps the part of what is mapped at `aside` where the piece is, too, with the access that
/// the program gave the piece.
fn put_over(piece: &Region, aside: usize) -> Result<()> {
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    let from = aside + piece.offset;
    // SAFETY: ours; the other mapping takes its access from this one.
    unsafe { sys::mprotect(from, piece.len, piece.prot)? };
    // A length of 0 leaves the mapping there, as it is shared.
    // SAFETY: what is there now has the same contents.
    unsafe { sys::mremap(from, 0, piece.mapped, flags, piece.base) }.map(drop)
}

/// Ordinary memory by now: its holes and its end as the program knows them.
fn settle(piece: &Region) -> Result<()> {
    let tail = piece.known().end..piece.mapped().end;
    let unmap = |range: Range<usize>| match range.is_empty() {
        true => Ok(()),
        // SAFETY: the program has unmapped it, or does not know of it.
        false => unsafe { sys::munmap(range.start, range.len()) },
    };
    unmap(tail)?;
    mlocked::restore_all(&piece.known());
    // From now on the kernel knows.
    mlocked::cut(&piece.known());
    if piece.hidden {
        // SAFETY: the program's own advice.
        unsafe { sys::madvise(piece.base, piece.len, libc::MADV_DONTDUMP)? };
    }
    piece.gone.holes().try_for_each(unmap)
}

/// Makes a segment one on ordinary memory.
pub(super) fn replace_segment(open: &mut Open, id: i32) -> Result<()> {
    let segment = open.segment(id).ok_or(Errno(libc::EINVAL))?;
    let On::Huge(page) = segment.on else {
        return Err(Errno(libc::EINVAL));
    };
    let state = sys::shm_state(segment.now)?;
    let new = sys::shmget(libc::IPC_PRIVATE, state.size, libc::IPC_CREAT | 0o600)?;
    let views = View::of(segment.now).and_then(|old| Ok((old, View::of(new)?)));
    let result = views.and_then(|(old, now)| {
        advise(now.at, state.size);
        let (views, shape) = ((old.at, now.at), (state.size, page));
        with_shield(|shield| fill_and_put(open, id, views, shape, (new, shield)))
    });
    match result {
        Ok(()) => {
            hand_over(segment.now, new, &state);
            open.replace_segment(id, new);
            Ok(())
        }
        Err(error) => {
            let _ = sys::shm_remove(new);
            Err(error)
        }
    }
}

/// A segment's memory, seen for a while.
struct View {
    at: usize,
}

impl View {
    fn of(id: i32) -> Result<View> {
        sys::shmat(id, 0, 0).map(|at| View { at })
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: attached by us, for this.
        let _ = unsafe { sys::shmdt(self.at) };
    }
}

/// Copies a segment from one view to another one, and puts what is attached of
/// the one in the place of the other.
fn fill_and_put(
    open: &mut Open,
    id: i32,
    (old, now): (usize, usize),
    (size, page): (usize, usize),
    (new, shield): (i32, &Shield),
) -> Result<()> {
    // What is attached is copied while nobody writes to it.
    copy_what_is_there(old, now, size.next_multiple_of(sys::page_size()), page);
    while let Some(piece) = open.find(|piece| is_of(piece, id)) {
        let Backing::Segment(_, flags) = piece.backing else {
            break;
        };
        let kept = flags & (libc::SHM_RDONLY | libc::SHM_EXEC);
        let view = View {
            at: sys::shmat(new, 0, kept)?,
        };
        replace_piece_of_segment(&piece, (old, now), view.at, shield)?;
        find_again(&piece.known(), now + piece.offset);
        open.update(piece.base, None);
    }
    Ok(())
}

/// As [`replace_piece`], where the contents are copied from one view of the
/// segment to another.
fn replace_piece_of_segment(
    piece: &Region,
    (old, now): (usize, usize),
    aside: usize,
    shield: &Shield,
) -> Result<()> {
    let at = piece.offset;
    exchange(piece, now + at, shield, |words| {
        if facts::has_threads() && piece.prot & libc::PROT_WRITE != 0 {
            copy_again(old + at, now + at, piece.len, piece.page);
        }
        words.come_along(shield)?;
        put_over(piece, aside)
    })
}

/// The new segment has the rights and the fate of the old one, which goes.
fn hand_over(old: i32, new: i32, state: &ShmState) {
    let _ = sys::shm_give_to(new, state);
    for gone in [Some(old), state.is_removed.then_some(new)] {
        gone.map(sys::shm_remove);
    }
}
