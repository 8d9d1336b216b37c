//! Regions of "huge pages" that are base pages of a file in memory: what is
//! known of them does not depend on a pool.
#![expect(unsafe_code, reason = "reads and writes memory by address")]

use std::sync::Mutex;

use core::ffi::c_int;
use core::ops::Range;

use super::region::*;
use crate::extent::address_space;
use crate::extent::unit::State;
use crate::registry::named::change::{madvise, meets, mprotect, mremap, munmap};
use crate::sys::{self, Errno};

const PAGE: usize = 2 << 20;

/// Forks of one test must not meet what another one is about to do.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

fn region(pages: usize) -> usize {
    let fd = sys::memory_file(c"test", 0).unwrap();
    let file = std::fs::File::from(unsafe_fd(fd));
    file.set_len((pages * PAGE) as u64).unwrap();
    hand_out(pages * PAGE, PAGE, Source::File(fd)).unwrap()
}

fn unsafe_fd(fd: c_int) -> std::os::fd::OwnedFd {
    // SAFETY: opened just now, and nobody else has it.
    unsafe { std::os::fd::FromRawFd::from_raw_fd(fd) }
}

fn states(base: usize) -> Vec<State> {
    let extent = extents().find(|extent| extent.base == base).unwrap();
    extent.units().iter().map(|unit| unit.load().0).collect()
}

fn page(base: usize, n: usize) -> Range<usize> {
    base + n * PAGE..base + (n + 1) * PAGE
}

fn put(addr: usize, value: u64) {
    // SAFETY: memory of the test.
    unsafe { (addr as *mut u64).write_volatile(value) };
}

fn get(addr: usize) -> u64 {
    // SAFETY: memory of the test.
    unsafe { (addr as *const u64).read_volatile() }
}

use State::{Apart, Base, Gone, Huge, Lent, Shut, ShutApart, Thp};

#[test]
fn lengths_and_sizes_that_make_no_sense() {
    let of = |len, page| hand_out(len, page, Source::Pool);
    assert_eq!(of(0, PAGE), Err(Errno(libc::EINVAL)));
    assert_eq!(of(1, 3 << 20), Err(Errno(libc::EINVAL)));
    assert_eq!(of(usize::MAX, PAGE), Err(Errno(libc::ENOMEM)));
    assert_eq!(of(1 << 60, PAGE), Err(Errno(libc::ENOMEM)));
}

#[test]
fn what_is_unmapped_is_gone_and_the_rest_is_freed_whole() {
    let _turn = ONE_AT_A_TIME.lock();
    let base = region(4);
    assert!(!take_back(base + 1, false) && !take_back(base + PAGE, true));
    assert_eq!(munmap(&(base..base + 4096)), Err(Errno(libc::EINVAL)));
    munmap(&page(base, 1)).unwrap();
    assert_eq!(states(base), [Huge, Gone, Huge, Huge]);
    assert!(!meets(&page(base, 1)) && meets(&page(base, 2)));
    // What comes to lie there is not ours.
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: replaces nothing.
    let other = unsafe { sys::mmap(base + PAGE, PAGE, prot, flags, -1, 0) };
    assert_eq!(other, Ok(base + PAGE));
    put(base + PAGE, 7);
    assert!(take_back(base + 64, true));
    assert!(!take_back(base, true));
    assert_eq!(get(base + PAGE), 7);
    // SAFETY: mapped by the test.
    unsafe { sys::munmap(base + PAGE, PAGE).unwrap() };
}

#[test]
fn a_region_that_was_unmapped_in_parts_is_forgotten() {
    let _turn = ONE_AT_A_TIME.lock();
    let base = region(2);
    munmap(&page(base, 0)).unwrap();
    // Another test's thread may get the place: what lies there is to be this one's.
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    // SAFETY: replaces nothing.
    let own = unsafe { sys::mmap(base, PAGE, libc::PROT_NONE, flags, -1, 0) };
    let rest = match own {
        Ok(_) => base..base + 2 * PAGE,
        Err(_) => page(base, 1),
    };
    munmap(&rest).unwrap();
    assert!(!take_back(base, true));
}

#[test]
fn protection_is_kept_through_a_fork() {
    let _turn = ONE_AT_A_TIME.lock();
    let base = region(4);
    put(base + 3 * PAGE, 42);
    mprotect(&page(base, 0), libc::PROT_READ).unwrap();
    mprotect(&page(base, 1), libc::PROT_NONE).unwrap();
    mprotect(&page(base, 1), libc::PROT_READ | libc::PROT_WRITE).unwrap();
    assert_eq!(states(base), [Shut, Huge, Huge, Huge]);
    mprotect(&page(base, 3), libc::PROT_NONE).unwrap();
    lend();
    assert_eq!(states(base), [Lent, Huge, Huge, Lent]);
    // Opened again, it is shared: so it moves.
    mprotect(&page(base, 3), libc::PROT_READ | libc::PROT_WRITE).unwrap();
    assert!(matches!(states(base)[3], Thp | Base));
    assert_eq!(get(base + 3 * PAGE), 42);
    put(base + 3 * PAGE, 43);
    let all = libc::PROT_READ | libc::PROT_WRITE | libc::PROT_EXEC;
    mprotect(&page(base, 2), all).unwrap();
    assert!(matches!(states(base)[2], Thp | Base));
    assert_eq!(
        mprotect(&(base..base + 4096), libc::PROT_READ),
        Err(Errno(libc::EINVAL))
    );
    assert!(take_back(base, false));
}

#[test]
fn what_is_kept_from_children_is_not_theirs() {
    let _turn = ONE_AT_A_TIME.lock();
    let base = region(3);
    madvise(&page(base, 0), libc::MADV_DONTFORK).unwrap();
    mprotect(&page(base, 1), libc::PROT_READ).unwrap();
    madvise(&page(base, 1), libc::MADV_DONTFORK).unwrap();
    assert_eq!(states(base), [Apart, ShutApart, Huge]);
    lend();
    assert_eq!(states(base), [Apart, ShutApart, Huge]);
    madvise(&page(base, 0), libc::MADV_DOFORK).unwrap();
    assert_eq!(states(base), [Huge, ShutApart, Huge]);
    // As in a child, where it is really not mapped.
    // SAFETY: memory of the test.
    unsafe { sys::munmap(base + PAGE, PAGE).unwrap() };
    leave_behind();
    assert_eq!(states(base), [Huge, Gone, Huge]);
    assert!(take_back(base, false));
}

#[test]
fn what_is_dropped_reads_as_zero_and_can_be_written() {
    let _turn = ONE_AT_A_TIME.lock();
    let base = region(2);
    put(base, 1);
    put(base + PAGE, 2);
    madvise(&page(base, 0), libc::MADV_DONTNEED).unwrap();
    assert_eq!((get(base), get(base + PAGE)), (0, 2));
    assert!(matches!(states(base)[..], [Thp | Base, Huge]));
    mprotect(&page(base, 1), libc::PROT_READ).unwrap();
    let refused = madvise(&page(base, 1), libc::MADV_DONTNEED);
    assert_eq!(refused, Err(Errno(libc::EINVAL)));
    assert!(take_back(base, false));
}

#[test]
fn a_region_shrinks_and_moves_but_does_not_grow() {
    let _turn = ONE_AT_A_TIME.lock();
    let base = region(4);
    put(base, 5);
    let (len, less) = (4 * PAGE, 2 * PAGE);
    let grown = mremap(base, len, len + PAGE, libc::MREMAP_MAYMOVE, 0);
    assert_eq!(grown, Err(Errno(libc::EINVAL)));
    assert_eq!(mremap(base, len, less, 0, 0), Ok(base));
    assert_eq!(states(base), [Huge, Huge, Gone, Gone]);
    let place = address_space::reserve_elsewhere(less, PAGE).unwrap();
    let flags = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
    assert_eq!(mremap(base, less, less, flags, place), Ok(place));
    assert_eq!(get(place), 5);
    assert!(!take_back(base, true));
    // SAFETY: memory of the test.
    unsafe { sys::munmap(place, less).unwrap() };
}
