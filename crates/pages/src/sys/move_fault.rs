//! Parks memory by `userfaultfd(2)`: its pages move to another address in the process. A thread
//! that touches the old address waits until they are back (`UFFDIO_MOVE`, Linux 6.8).
#![expect(unsafe_code, reason = "moves pages by address")]

use core::ffi::c_int;
use core::ops::Range;

use super::call::{READS, Result, WRITES, unfiltered_call};
use super::cast::extended;
use super::file::{File, poll};
use super::userfault::{UFFDIO_REGISTER, UFFDIO_UNREGISTER, UFFDIO_WAKE, ioctl, open};

const MODE_MISSING: u64 = 1 << 0;
const DONT_WAKE: u64 = 1 << 0;
const ALLOW_SRC_HOLES: u64 = 1 << 1;

const UFFDIO_COPY: usize = READS | WRITES | 0x0028_aa03;
const UFFDIO_MOVE: usize = READS | WRITES | 0x0028_aa05;

const EVENT_REMAP: u64 = 1 << 2;
const EVENT_REMOVE: u64 = 1 << 3;
const EVENT_UNMAP: u64 = 1 << 6;
const THREAD_ID: u64 = 1 << 8;
const MOVE: u64 = 1 << 16;
const FEATURES: u64 = EVENT_REMAP | EVENT_REMOVE | EVENT_UNMAP | THREAD_ID | MOVE;

/// An open userfaultfd for missing pages. Closing it wakes all waiting threads.
#[derive(Debug)]
pub struct MoveFault(File);

/// An event in watched memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UffdEvent {
    /// A thread waits for a page.
    Fault {
        /// The page.
        addr: usize,
        /// The thread's ID.
        thread: u32,
    },
    /// `mremap(2)` moved the mapping, which is still watched.
    Remap {
        /// The old address.
        from: usize,
        /// The new address.
        to: usize,
        /// The length at the old address.
        len: usize,
    },
    /// `madvise(2)` dropped the contents.
    Dropped(Range<usize>),
    /// The range is unmapped.
    Unmapped(Range<usize>),
}

impl MoveFault {
    /// Takes ownership of a descriptor.
    pub fn from_fd(fd: c_int) -> MoveFault {
        MoveFault(File::from_fd(fd))
    }

    /// Its descriptor.
    pub fn fd(&self) -> c_int {
        self.0.fd()
    }

    /// Opens a userfaultfd that also stops accesses by the kernel.
    ///
    /// # Errors
    /// `EPERM` without the rights; `EINVAL` before Linux 6.8; `ENOSYS` under valgrind.
    pub fn open() -> Result<MoveFault> {
        open(FEATURES).map(MoveFault)
    }

    /// Watches a range: from now on a thread that touches a missing page waits. `EBUSY` if another
    /// userfaultfd watches it.
    pub fn watch(&self, range: &Range<usize>) -> Result<()> {
        let (start, len) = (range.start as u64, range.len() as u64);
        ioctl(&self.0, UFFDIO_REGISTER, &mut [start, len, MODE_MISSING, 0])
    }

    /// Ends the watch and wakes waiting threads. `EINVAL` if nothing is mapped there.
    pub fn unwatch(&self, range: &Range<usize>) -> Result<()> {
        let (start, len) = (range.start as u64, range.len() as u64);
        ioctl(&self.0, UFFDIO_UNREGISTER, &mut [start, len])
    }

    /// Wakes threads that wait for this page; they fault again.
    pub fn wake(&self, page: usize) {
        let _ = ioctl(
            &self.0,
            UFFDIO_WAKE,
            &mut [page as u64, super::page_size() as u64],
        );
    }

    /// Moves pages to a watched range; returns the bytes moved, holes included. Wakes no thread.
    ///
    /// # Errors
    /// `EAGAIN` while a message is unread; `EBUSY` for a page that is pinned or that a forked
    /// child shares; `EINVAL` if the ranges differ in protection or locks.
    ///
    /// # Safety
    /// `to` must be the address in watched memory to which these pages belong.
    pub unsafe fn move_pages(&self, to: usize, from: &Range<usize>) -> (usize, Result<()>) {
        self.transfer(UFFDIO_MOVE, to, from, DONT_WAKE | ALLOW_SRC_HOLES)
    }

    /// Copies bytes to missing base pages of a watched range. Wakes no thread.
    ///
    /// # Errors
    /// `EAGAIN` while a message is unread; `EEXIST` at a present page.
    ///
    /// # Safety
    /// `from` must be readable.
    pub unsafe fn copy(&self, to: usize, from: &Range<usize>) -> (usize, Result<()>) {
        self.transfer(UFFDIO_COPY, to, from, DONT_WAKE)
    }

    fn transfer(
        &self,
        request: usize,
        to: usize,
        from: &Range<usize>,
        mode: u64,
    ) -> (usize, Result<()>) {
        let mut words = [to as u64, from.start as u64, from.len() as u64, mode, 0];
        let result = ioctl(&self.0, request, &mut words);
        // If the kernel moved nothing, it stores a negative errno.
        let done = usize::try_from(words[4]).unwrap_or(0);
        let done = if done > from.len() { 0 } else { done };
        (done, result)
    }

    /// Reads a message, if there is one.
    pub fn read(&self) -> Option<UffdEvent> {
        const REMAP: u8 = 0x14;
        const REMOVE: u8 = 0x15;
        const FAULT: u8 = 0x12;
        let mut buffer = [0; 32];
        self.0.read(&mut buffer).ok().filter(|len| *len == 32)?;
        let word = |at: usize| {
            let bytes = buffer[at..at + 8].try_into().unwrap_or_default();
            usize::from_ne_bytes(bytes)
        };
        let (a, b, c) = (word(8), word(16), word(24));
        Some(match buffer[0] {
            FAULT => UffdEvent::Fault {
                addr: b & !(super::page_size() - 1),
                thread: u32::from_ne_bytes([buffer[24], buffer[25], buffer[26], buffer[27]]),
            },
            REMAP => UffdEvent::Remap {
                from: a,
                to: b,
                len: c,
            },
            REMOVE => UffdEvent::Dropped(a..b),
            _ => UffdEvent::Unmapped(a..b),
        })
    }

    /// Waits for a message, at most `milliseconds`.
    pub fn wait(&self, milliseconds: u64) {
        poll(self.0.fd(), libc::POLLIN, milliseconds);
    }
}

/// Lets this thread run on any CPU.
pub fn allow_all_cpus() {
    let all = [u64::MAX; 128];
    let args = [0, size_of_val(&all), all.as_ptr() as usize];
    let _ = unfiltered_call(libc::SYS_sched_setaffinity, args);
}

/// Gives this thread its own descriptor table with only this descriptor (Linux 5.9). On failure it
/// still shares the program's table.
pub fn unshare_files_except(keep: c_int) -> Result<()> {
    const UNSHARE: usize = 1 << 1;
    const LAST: usize = c_int::MAX as usize;
    let keep = extended(keep);
    let close = |first: usize, last: usize, flags: usize| {
        unfiltered_call(libc::SYS_close_range, [first, last, flags]).map(drop)
    };
    close(keep + 1, LAST, UNSHARE)?;
    if keep > 0 {
        let _ = close(0, keep - 1, 0);
    }
    Ok(())
}
