//! The requirements on the program, readable by hugectl: after a SIGKILL the library
//! cannot report them.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::env::{Require, Required, Share};
use crate::report::Met;
use crate::segment::Segment;

/// Number of segments that can be required.
const COUNT: usize = Require::SEGMENTS.len();

/// The requirement on each segment, in the order of [`Require::SEGMENTS`].
#[derive(Debug, Default)]
#[repr(C)]
pub struct Demands {
    all: [Demand; COUNT],
    /// A bit for each requirement that was broken since the start.
    failed: AtomicU32,
}

#[derive(Debug, Default)]
#[repr(C)]
struct Demand {
    bytes: AtomicU64,
    huge: AtomicU64,
    /// 0 for no requirement. Otherwise [`REQUIRED`], plus [`MET`] if it was met at the start, plus
    /// the percentage from bit [`PERCENT_SHIFT`] on (0 for [`Share::Whole`]).
    word: AtomicU32,
}

const REQUIRED: u32 = 1;
const MET: u32 = 2;
const PERCENT_SHIFT: u32 = 8;

/// Returns the bit of a segment in [`Demands::failed`].
pub fn bit(segment: Segment) -> u32 {
    place(segment).map_or(0, |at| 1 << at)
}

fn place(segment: Segment) -> Option<usize> {
    Require::SEGMENTS.iter().position(|other| *other == segment)
}

impl Demands {
    /// Stores the requirements and their measurements.
    pub fn set(&self, all: &[Met]) {
        for demand in &self.all {
            demand.word.store(0, Ordering::Release);
        }
        self.failed.store(0, Ordering::Relaxed);
        for met in all {
            let Required(segment, share) = met.required;
            let Some(at) = place(segment) else {
                continue;
            };
            let demand = &self.all[at];
            let percent = match share {
                Share::Whole => 0,
                Share::Percent(percent) => u32::from(percent),
            };
            demand.bytes.store(met.bytes, Ordering::Relaxed);
            demand.huge.store(met.huge, Ordering::Relaxed);
            let met = if met.met { MET } else { 0 };
            let word = REQUIRED | met | percent << PERCENT_SHIFT;
            demand.word.store(word, Ordering::Release);
        }
    }

    /// Returns the word in which the library sets the [`bit`] of a broken requirement.
    pub fn failed(&self) -> &AtomicU32 {
        &self.failed
    }

    /// Returns the requirements with their current state.
    pub fn get(&self) -> impl Iterator<Item = Met> + '_ {
        let all = self.all.iter().zip(Require::SEGMENTS);
        let failed = self.failed.load(Ordering::Relaxed);
        all.filter_map(move |(demand, segment)| {
            let word = demand.word.load(Ordering::Acquire);
            let percent = u8::try_from(word >> PERCENT_SHIFT).ok()?;
            let share = match percent {
                0 => Share::Whole,
                percent => Share::Percent(percent),
            };
            (word & REQUIRED != 0).then_some(Met {
                required: Required(segment, share),
                bytes: demand.bytes.load(Ordering::Relaxed),
                huge: demand.huge.load(Ordering::Relaxed),
                met: word & MET != 0 && failed & bit(segment) == 0,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    #[test]
    fn requirements_are_read_back_and_can_fail_later() {
        let demands = Demands::default();
        assert_eq!(demands.get().count(), 0);
        let met = |segment, share| Met {
            required: Required(segment, share),
            bytes: 8 << 20,
            huge: 6 << 20,
            met: true,
        };
        let all = [
            met(Segment::Bss, Share::Percent(70)),
            met(Segment::Heap, Share::Whole),
        ];
        demands.set(&all);
        assert_eq!(demands.get().collect::<Vec<_>>(), all);
        demands
            .failed()
            .fetch_or(bit(Segment::Heap), Ordering::Relaxed);
        let now: Vec<bool> = demands.get().map(|met| met.met).collect();
        assert_eq!(now, [true, false]);
        demands.set(&[]);
        assert_eq!(demands.get().count(), 0);
    }
}
