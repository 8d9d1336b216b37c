//! Room beside the program's memory, for what the kernel is to write there first.
//!
//! A room is mapped when it is first needed and kept for the process; one that is longer, or
//! wanted while all of those are in use, is unmapped again. A thread that ends in the middle,
//! or leaves by `longjmp(3)`, keeps its room for good: there are enough.
#![expect(unsafe_code, reason = "maps memory")]

use crate::rt::place::Place;
use crate::sys;

/// The bytes of a room that is kept: what the longest datagram needs that a socket sends by
/// default.
pub const SIZE: usize = 256 << 10;

/// So many of them are there at most.
const MOST: usize = 64;

static PLACES: [Place; MOST] = [const { Place::none() }; MOST];

/// A room, as long as this lives.
#[derive(Debug)]
pub struct SideRoom {
    base: usize,
    len: usize,
    /// Of one that is kept.
    place: Option<&'static Place>,
}

impl SideRoom {
    /// A room of so many bytes: one that is kept, or else one of its own, which is unmapped
    /// again. `None` where there is no memory.
    pub fn take(len: usize) -> Option<SideRoom> {
        let kept = || Place::take(&PLACES, || map(SIZE));
        if let Some(place) = (len <= SIZE).then(kept).flatten() {
            return Some(SideRoom {
                base: place.base(),
                len: SIZE,
                place: Some(place),
            });
        }
        let len = len.max(1).checked_next_multiple_of(sys::page_size())?;
        map(len).map(|base| SideRoom {
            base,
            len,
            place: None,
        })
    }

    /// Where it begins.
    pub fn base(&self) -> usize {
        self.base
    }

    /// Its bytes, all that were asked for or more.
    pub fn size(&self) -> usize {
        self.len
    }
}

impl Drop for SideRoom {
    fn drop(&mut self) {
        match self.place {
            Some(place) => place.leave(),
            // SAFETY: mapped by this, and nobody else knows of it.
            None => drop(unsafe { sys::munmap(self.base, self.len) }),
        }
    }
}

fn map(len: usize) -> Option<usize> {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
    // SAFETY: a new mapping replaces nothing.
    unsafe { sys::mmap(0, len, access, flags, -1, 0) }.ok()
}

/// In the child of a fork: the threads in the other rooms did not come along.
pub fn forget_others() {
    Place::forget_others(&PLACES);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_own_room_and_gives_it_back() {
        let take = || SideRoom::take(SIZE).unwrap();
        let rooms: Vec<SideRoom> = (0..MOST).map(|_| take()).collect();
        assert!(rooms.iter().all(|room| room.place.is_some()));
        // Nobody goes without one: neither the next, nor who needs more.
        assert!(take().place.is_none());
        let large = SideRoom::take(3 * SIZE + 1).unwrap();
        assert!(large.place.is_none() && large.size() > 3 * SIZE);
        let mut bases: Vec<usize> = rooms.iter().map(SideRoom::base).collect();
        bases.sort_unstable();
        assert!(bases.windows(2).all(|two| two[1] - two[0] >= SIZE));
        drop(rooms);
        let again = take();
        assert!(bases.contains(&again.base()));
        forget_others();
        assert!(take().base() != again.base());
    }
}
