//! How many processes have come from this one since a certain moment, and live.
//!
//! A fork hands on every mapping, an `exec` or an end gives it up, and the
//! kernel counts the mappings of a System V segment. So a segment of one page,
//! attached and removed at once, counts the processes that share what this one
//! had when it was made. Nobody else can attach it: it has no key, and its
//! number is told to nobody. It is gone with the last of them.
#![expect(unsafe_code, reason = "detaches segments")]

use core::sync::atomic::{AtomicI32, AtomicUsize, Ordering};

use crate::kernel::facts;
use crate::sys;

/// An attached segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Witness {
    id: i32,
    at: usize,
}

/// The last one that was made; no address without one.
static LAST_ID: AtomicI32 = AtomicI32::new(0);
static LAST_AT: AtomicUsize = AtomicUsize::new(0);

/// Segments are few on a machine: at most one in so many is ours.
const SHARE: usize = 2;

impl Witness {
    /// The last one that was made. To be called in a turn, as all of these.
    pub(super) fn last() -> Option<Witness> {
        let at = LAST_AT.load(Ordering::Relaxed);
        let id = LAST_ID.load(Ordering::Relaxed);
        (at != 0).then_some(Witness { id, at })
    }

    /// A new one.
    pub(super) fn next() -> Option<Witness> {
        let new = Witness::make();
        LAST_ID.store(new.map_or(0, |new| new.id), Ordering::Relaxed);
        LAST_AT.store(new.map_or(0, |new| new.at), Ordering::Relaxed);
        new
    }

    /// Detaches one to which nothing refers any more.
    pub(super) fn give_up(self) {
        // SAFETY: attached by us, and nobody refers to it.
        let _ = unsafe { sys::shmdt(self.at) };
    }

    /// Whether it is known that only this process has it.
    pub(super) fn is_alone(self) -> bool {
        self.processes() == Some(1)
    }

    /// Makes one, where that takes nothing away from others.
    fn make() -> Option<Witness> {
        if facts::has_filter() || !sys::has_shm_ids(SHARE) {
            return None;
        }
        let size = sys::page_size();
        let id = sys::shmget(libc::IPC_PRIVATE, size, libc::IPC_CREAT | 0o600).ok()?;
        let at = sys::shmat(id, 0, libc::SHM_RDONLY);
        let removed = sys::shm_remove(id);
        let at = at.ok()?;
        if removed.is_err() {
            // SAFETY: attached just now.
            let _ = unsafe { sys::shmdt(at) };
            return None;
        }
        Some(Witness { id, at })
    }

    /// How many processes have it; `None` where the kernel does not tell, as in
    /// another namespace, or must not be asked.
    pub(super) fn processes(self) -> Option<usize> {
        if facts::has_known_filter() {
            return None;
        }
        let state = sys::shm_state(self.id).ok()?;
        // One of ours, and not another one with its number.
        let is_it = state.is_removed && state.size == sys::page_size();
        (is_it && state.attached > 0).then_some(state.attached)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_alone_until_it_forks() {
        let witness = Witness::make().unwrap();
        assert_eq!(witness.processes(), Some(1));
        let child = child();
        assert_eq!(witness.processes(), Some(2));
        // SAFETY: ends the child of this test.
        unsafe { libc::kill(child, libc::SIGKILL) };
        // SAFETY: waits for it.
        unsafe { libc::waitpid(child, core::ptr::null_mut(), 0) };
        assert_eq!(witness.processes(), Some(1));
        witness.give_up();
    }

    /// A child that waits until it is killed.
    fn child() -> libc::pid_t {
        // SAFETY: the child makes one system call.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: takes nothing.
            unsafe { libc::pause() };
        }
        child
    }
}
