//! Room beside the program's memory, for what the kernel is to write there first.
//!
//! A room is mapped when it is first needed and kept for the process. A thread that ends in
//! the middle, or leaves by `longjmp(3)`, keeps its room for good: there are enough.
#![expect(unsafe_code, reason = "maps memory")]

use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys;

/// The bytes of a room: what the longest datagram needs that a socket sends by default.
pub const SIZE: usize = 256 << 10;

/// So many rooms are there at most.
const MOST: usize = 64;

/// A place for a room.
struct Place {
    /// Which thread has it; 0 for none.
    user: AtomicUsize,
    /// Where it begins; 0 while there is none. Once there is one it stays.
    base: AtomicUsize,
}

static PLACES: [Place; MOST] = [const { Place::none() }; MOST];

/// A room, as long as this lives.
#[derive(Debug)]
pub struct SideRoom {
    place: &'static Place,
}

impl SideRoom {
    /// A room of [`SIZE`] bytes; `None` where all are in use, or there is no memory.
    pub fn take() -> Option<SideRoom> {
        let me = sys::thread_name();
        let is_free = |place: &&Place| {
            let user = &place.user;
            user.load(Ordering::Relaxed) == 0
                && user
                    .compare_exchange(0, me, Ordering::Acquire, Ordering::Relaxed)
                    .is_ok()
        };
        let room = SideRoom {
            place: PLACES.iter().find(is_free)?,
        };
        if room.base() == 0 {
            room.place.base.store(map()?, Ordering::Relaxed);
        }
        Some(room)
    }

    /// Where it begins.
    pub fn base(&self) -> usize {
        self.place.base.load(Ordering::Relaxed)
    }
}

impl Drop for SideRoom {
    fn drop(&mut self) {
        self.place.user.store(0, Ordering::Release);
    }
}

fn map() -> Option<usize> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping replaces nothing.
    unsafe { sys::mmap(0, SIZE, access, flags, -1, 0) }.ok()
}

/// In the child of a fork: the threads in the other rooms did not come along.
pub fn forget_others() {
    let me = sys::thread_name();
    for place in &PLACES {
        if place.user.load(Ordering::Relaxed) != me {
            place.user.store(0, Ordering::Relaxed);
        }
    }
}

impl Place {
    const fn none() -> Place {
        Place {
            user: AtomicUsize::new(0),
            base: AtomicUsize::new(0),
        }
    }
}

impl core::fmt::Debug for Place {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Place").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_room_and_gives_it_back() {
        let rooms: Vec<SideRoom> = core::iter::from_fn(SideRoom::take).collect();
        assert_eq!(rooms.len(), MOST);
        let mut bases: Vec<usize> = rooms.iter().map(SideRoom::base).collect();
        bases.sort_unstable();
        assert!(bases.windows(2).all(|two| two[1] - two[0] >= SIZE));
        drop(rooms);
        let again = SideRoom::take().unwrap();
        assert!(bases.contains(&again.base()));
        forget_others();
        assert!(SideRoom::take().unwrap().base() != again.base());
    }
}
