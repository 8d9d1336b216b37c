//! What a program has unmapped of memory that stays mapped all the same, since
//! the kernel unmaps no part of a huge page.

use core::ops::Range;

/// So many holes are known of a region; what is more stays mapped.
const HOLES: usize = 4;

/// The holes of a region.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Gone([(usize, usize); HOLES]);

impl Gone {
    /// None.
    pub const NOTHING: Gone = Gone([(0, 0); HOLES]);

    /// Each of them.
    pub fn holes(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let holes = self.0.iter().map(|(start, end)| *start..*end);
        holes.filter(|hole| !hole.is_empty())
    }

    /// Whether there is none.
    pub fn is_nothing(&self) -> bool {
        self.holes().next().is_none()
    }

    /// Notes one more, joined with those that it touches.
    pub fn add(&mut self, hole: Range<usize>) {
        let (mut start, mut end) = (hole.start, hole.end);
        for place in &mut self.0 {
            let touches = place.0 <= end && start <= place.1 && place.0 < place.1;
            if touches {
                (start, end) = (start.min(place.0), end.max(place.1));
                *place = (0, 0);
            }
        }
        if let Some(place) = self.0.iter_mut().find(|place| place.0 == place.1) {
            *place = (start, end);
        }
    }

    /// Whether all of a range is gone.
    pub fn covers(&self, range: &Range<usize>) -> bool {
        self.holes()
            .any(|hole| hole.start <= range.start && range.end <= hole.end)
    }

    /// Those that lie in a range.
    #[must_use]
    pub fn within(&self, range: &Range<usize>) -> Gone {
        let mut part = Gone::NOTHING;
        for hole in self.holes() {
            let (start, end) = (hole.start.max(range.start), hole.end.min(range.end));
            if start < end {
                part.add(start..end);
            }
        }
        part
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_grow_together() {
        let mut gone = Gone::NOTHING;
        gone.add(10..20);
        gone.add(40..50);
        gone.add(10..20);
        assert!(!gone.covers(&(10..50)) && gone.covers(&(12..20)));
        gone.add(20..40);
        assert!(gone.covers(&(10..50)));
        assert_eq!(gone.within(&(15..30)).holes().next(), Some(15..30));
        assert!(gone.within(&(60..70)).is_nothing());
        for start in [100, 200, 300, 400] {
            gone.add(start..start + 10);
        }
        // The last one had no place.
        assert!(gone.covers(&(300..310)) && !gone.covers(&(400..410)));
    }
}
