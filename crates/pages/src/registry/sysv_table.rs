//! The table of System V segments that this process has made: entered, found,
//! forgotten.

use super::shared::Open;
use super::sysv::{On, Segment};
use crate::sys;

impl Open {
    /// Enters a segment that was made just now.
    pub fn enter_segment(&mut self, id: i32, on: On, is_private: bool) {
        let born = self.birth();
        self.forget_segment(id);
        let is_free = |place: &&mut Segment| !place.used || sys::shm_state(place.now).is_err();
        if let Some(place) = self.segments().iter_mut().find(is_free) {
            *place = Segment {
                id,
                now: id,
                on,
                is_private,
                born,
                creator: sys::getpid(),
                used: true,
            };
        }
    }

    /// The segment that the program knows by this number, if this process or
    /// one that it was forked from has made it.
    pub fn segment(&mut self, id: i32) -> Option<Segment> {
        let found = self.segments().iter();
        let found = found.filter(|segment| segment.used && segment.id == id);
        found.copied().next()
    }

    /// The same, if it is there still; forgotten where the kernel has given its
    /// number to another one.
    pub fn living_segment(&mut self, id: i32) -> Option<Segment> {
        let segment = self.segment(id)?;
        let state = sys::shm_state(segment.now);
        let creator = sys::getpid();
        match state {
            Ok(state) if state.creator == segment.creator || state.creator == creator => {
                Some(segment)
            }
            _ => {
                self.forget_segment(id);
                None
            }
        }
    }

    /// The same, where it has become another one.
    pub fn replace_segment(&mut self, id: i32, now: i32) {
        let mut all = self.segments().iter_mut();
        if let Some(segment) = all.find(|segment| segment.used && segment.id == id) {
            segment.now = now;
            segment.on = On::Ordinary;
        }
    }

    /// Forgets a segment: it is gone, or the kernel gives its number to another.
    pub fn forget_segment(&mut self, id: i32) {
        let mut all = self.segments().iter_mut();
        if let Some(segment) = all.find(|segment| segment.used && segment.id == id) {
            *segment = Segment::UNUSED;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared::open;
    use super::*;

    #[test]
    fn what_was_made_is_known_until_it_is_forgotten() {
        let mut open = open();
        open.enter_segment(-77, On::Huge(2 << 20), true);
        assert_eq!(open.segment(-77).unwrap().on, On::Huge(2 << 20));
        open.replace_segment(-77, 5);
        let segment = open.segment(-77).unwrap();
        assert_eq!((segment.now, segment.on), (5, On::Ordinary));
        open.forget_segment(-77);
        assert_eq!(open.segment(-77), None);
    }
}
