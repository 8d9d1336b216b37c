//! How many huge pages one call asks for. Each call has every processor give back the pages
//! that it holds for later, and waits until it has: where other programs keep processors
//! busy, that is longer than all else. So neighbours are asked for together, as many as fit
//! into a short time; between them the kernel lets the program's faults through.

use std::time::Duration;

use crate::adopt::plan::Step;

/// So long one call runs on a processor.
const SLICE: Duration = Duration::from_millis(4);
/// The most huge pages of one call.
const MOST: usize = 16;

/// How many huge pages fit into one call, as the last one tells.
#[derive(Debug)]
pub(super) struct Run {
    fits: usize,
    /// So many of the next ones are asked for one by one.
    alone: usize,
}

impl Run {
    pub(super) fn new() -> Run {
        Run { fits: 1, alone: 0 }
    }

    /// The steps of the next call, which follow each other in memory; all but one wait
    /// where nothing is to be risked.
    pub(super) fn next<'s>(&mut self, steps: &'s [Step], careful: bool) -> &'s [Step] {
        let most = match careful || self.alone > 0 {
            true => 1,
            false => self.fits,
        };
        self.alone = self.alone.saturating_sub(1);
        let follows = |pair: &&[Step]| pair[0].range.end == pair[1].range.start;
        let neighbours = 1 + steps.windows(2).take_while(follows).count();
        &steps[..most.min(neighbours).min(steps.len())]
    }

    /// Some of these could not be had: which ones is told by one after the other.
    pub(super) fn has_failed(&mut self, run: &[Step]) {
        self.alone = run.len();
    }

    /// A call for so many took so long on a processor.
    pub(super) fn took(&mut self, count: usize, time: Duration) {
        let each = time / u32::try_from(count).unwrap_or(1).max(1);
        let fits = SLICE.as_nanos() / each.as_nanos().max(1);
        let most = MOST.min(self.fits * 2);
        self.fits = usize::try_from(fits).unwrap_or(most).clamp(1, most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(pages: &[u64]) -> Vec<Step> {
        let step = |at: &u64| Step {
            range: at * 512..(at + 1) * 512,
            bytes: 512,
        };
        pages.iter().map(step).collect()
    }

    #[test]
    fn neighbours_go_together_as_far_as_they_fit() {
        let all = steps(&[3, 4, 5, 6, 7, 9, 8]);
        let mut run = Run::new();
        assert_eq!(run.next(&all, false).len(), 1);
        run.took(1, SLICE / 40);
        run.took(2, SLICE / 20);
        assert_eq!(run.next(&all, false).len(), 4);
        assert_eq!(run.next(&all, true).len(), 1);
        run.took(4, SLICE / 10);
        assert_eq!(run.next(&all, false).len(), 5, "a gap is not gone over");
        assert_eq!(run.next(&all[5..], false).len(), 1, "nor a way back");
        for _ in 0..9 {
            run.took(1, Duration::from_nanos(1));
        }
        let many: Vec<u64> = (0..100).collect();
        assert_eq!(run.next(&steps(&many), false).len(), MOST);
        // Slower than it was.
        run.took(16, SLICE * 8);
        assert_eq!(run.next(&steps(&many), false).len(), 2);
        run.took(1, SLICE * 8);
        assert_eq!(run.next(&all, false).len(), 1);
        assert!(run.next(&[], false).is_empty());
    }

    #[test]
    fn what_failed_together_is_tried_one_by_one() {
        let all = steps(&[0, 1, 2, 3, 4]);
        let mut run = Run::new();
        run.took(1, SLICE / 2);
        assert_eq!(run.next(&all, false).len(), 2);
        run.has_failed(&all[..2]);
        let lengths: Vec<usize> = (0..3).map(|_| run.next(&all, false).len()).collect();
        assert_eq!(lengths, [1, 1, 2]);
    }
}
