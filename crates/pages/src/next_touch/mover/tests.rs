//! Tests the whole mechanism with threads, if there is `UFFDIO_MOVE` and the right to use it.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::*;

const PAGE: usize = 4096;
const LEN: usize = 32 << 20;
const RW: c_int = libc::PROT_READ | libc::PROT_WRITE;

fn word(at: usize) -> *mut usize {
    at as *mut usize
}

fn map(len: usize, prot: c_int) -> usize {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping.
    unsafe { sys::mmap(0, len, prot, flags, -1, 0) }.unwrap()
}

/// Maps memory; each page holds its offset plus 1.
fn filled() -> Range<usize> {
    let start = map(LEN, RW);
    for at in (start..start + LEN).step_by(PAGE) {
        // SAFETY: mapped above.
        unsafe { word(at).write(at - start + 1) };
    }
    start..start + LEN
}

fn number(at: usize) -> usize {
    // SAFETY: the tests map it.
    unsafe { word(at).read_volatile() }
}

/// Serves while `program` runs in other threads, then brings all pieces back.
fn serve(mover: &mut Mover, program: impl FnOnce() + Send) {
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            program();
            is_over.store(true, Ordering::Relaxed);
        });
        while !is_over.load(Ordering::Relaxed) {
            mover.serve();
            sys::yield_now();
        }
    });
    mover.finish();
}

/// `None` without the rights, or before Linux 6.8.
fn mover() -> Option<Mover> {
    Some(Mover::new(MoveFault::open().ok()?).unwrap())
}

#[test]
fn contents_survive_touches_and_untouched_pieces_come_back() {
    let Some(mut mover) = mover() else { return };
    let range = filled();
    mover.park(&range, RW).unwrap();
    mover.finish_if_parked(&(range.start..range.start + PAGE));
    assert!(mover.pieces.all().is_empty());
    mover.park(&range, RW).unwrap();
    assert!(!mover.pieces.all().is_empty());
    let start = range.start;
    serve(&mut mover, || {
        std::thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    for n in 0..LEN / PAGE / 2 {
                        let at = n.wrapping_mul(7919 + 2 * thread) % (LEN / PAGE / 2) * PAGE;
                        assert_eq!(number(start + at), at + 1);
                    }
                });
            }
        });
    });
    for at in (0..LEN).step_by(PAGE) {
        assert_eq!(number(start + at), at + 1);
    }
    unmap(range.start, LEN);
}

#[test]
fn changes_by_the_program_are_applied() {
    let Some(mut mover) = mover() else { return };
    for _ in 0..20 {
        let range = filled();
        let start = range.start;
        let dest = map(LEN, libc::PROT_NONE);
        let begun = AtomicUsize::new(0);
        let begun = &begun;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while begun.load(Ordering::Relaxed) == 0 {
                    std::hint::spin_loop();
                }
                let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
                let dropped = libc::MADV_DONTNEED;
                // SAFETY: memory of this test.
                unsafe { sys::madvise(start + PAGE, 3 << 20, dropped) }.unwrap();
                let (from, len) = (start + (16 << 20), 8 << 20);
                // SAFETY: as above.
                unsafe { sys::mremap(from, len, len, flags, dest) }.unwrap();
                unmap(start + (8 << 20), 4 << 20);
                // SAFETY: as above.
                unsafe { sys::mprotect(start + (28 << 20), 2 << 20, libc::PROT_READ) }.unwrap();
                begun.store(2, Ordering::Relaxed);
            });
            begun.store(1, Ordering::Relaxed);
            mover.park(&range, RW).unwrap();
            while begun.load(Ordering::Relaxed) != 2 {
                mover.serve();
            }
        });
        serve(&mut mover, move || {
            for at in (0..LEN).step_by(PAGE) {
                let wanted = match at {
                    PAGE..=0x0030_0fff => 0,
                    0x0080_0000..0x00c0_0000 | 0x0100_0000..0x0180_0000 => continue,
                    at => at + 1,
                };
                assert_eq!(number(start + at), wanted, "{at:x}");
            }
            for at in (0..8 << 20).step_by(PAGE) {
                assert_eq!(number(dest + at), at + (16 << 20) + 1, "moved {at:x}");
            }
        });
        // Other tests may have mapped memory in the gaps.
        for (from, len) in [(0, 8 << 20), (12 << 20, 4 << 20), (24 << 20, 8 << 20)] {
            unmap(start + from, len);
        }
        unmap(dest, LEN);
    }
}

#[test]
fn a_piece_that_the_program_drops_is_not_parked_afterwards() {
    let Some(mut mover) = mover() else { return };
    let range = filled();
    let parked = map_parking(&range, RW).unwrap();
    mover.fault.watch(&range).unwrap();
    mover.pieces.add(Piece {
        origin: range.start,
        parked,
        len: LEN,
    });
    mover.unused = parked..parked + LEN;
    mover.apply(&UffdEvent::Dropped(range.start..range.start + PAGE));
    assert!(mover.pieces.all().is_empty());
    unmap(range.start, LEN);
}
