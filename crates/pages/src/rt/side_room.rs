//! Room beside the program's memory, for what the kernel is to write there first.
//!
//! A room is mapped when it is first needed and kept for the process. A thread that ends in
//! the middle, or leaves by `longjmp(3)`, keeps its room for good: there are enough.
#![expect(unsafe_code, reason = "maps memory")]

use crate::rt::place::Place;
use crate::sys;

/// The bytes of a room: what the longest datagram needs that a socket sends by default.
pub const SIZE: usize = 256 << 10;

/// So many rooms are there at most.
const MOST: usize = 64;

static PLACES: [Place; MOST] = [const { Place::none() }; MOST];

/// A room, as long as this lives.
#[derive(Debug)]
pub struct SideRoom {
    place: &'static Place,
}

impl SideRoom {
    /// A room of [`SIZE`] bytes; `None` where all are in use, or there is no memory.
    pub fn take() -> Option<SideRoom> {
        let place = Place::take(&PLACES, map)?;
        Some(SideRoom { place })
    }

    /// Where it begins.
    pub fn base(&self) -> usize {
        self.place.base()
    }
}

impl Drop for SideRoom {
    fn drop(&mut self) {
        self.place.leave();
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
    Place::forget_others(&PLACES);
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
