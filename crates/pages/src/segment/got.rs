//! What became of a segment.

use super::why::Why;

/// What became of a segment, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Got {
    /// What lies in whole huge pages.
    pub whole: usize,
    /// On huge pages of the file itself.
    pub own: usize,
    /// On pages of a pool.
    pub pool: usize,
    /// Advised to be on transparent huge pages.
    pub thp: usize,
    /// What kept a part of it from a better rung, or from any.
    pub why: Option<Why>,
}

impl Got {
    /// All that is on huge pages, or may come to be.
    pub fn bytes(&self) -> usize {
        self.own + self.pool + self.thp
    }

    /// What there is to say about it: that nothing could be done, or less than
    /// was asked for.
    pub fn why(&self) -> Option<Why> {
        match self.whole {
            0 => Some(Why::Small),
            _ => self.why,
        }
    }

    /// Adds what became of another segment.
    pub fn add(&mut self, other: Got) {
        self.whole += other.whole;
        self.own += other.own;
        self.pool += other.pool;
        self.thp += other.thp;
        self.why = self.why.or(other.why);
    }

    /// Counts what came from a pool that was asked for `wanted` bytes; how
    /// much that is.
    pub fn add_from_pool(
        &mut self,
        wanted: usize,
        done: Result<usize, Why>,
        shortfall: impl FnOnce(usize) -> Why,
    ) -> usize {
        let (done, why) = match done {
            Ok(done) if done < wanted => (done, Some(shortfall(wanted - done))),
            Ok(done) => (done, None),
            Err(why) => (0, Some(why)),
        };
        self.pool += done;
        self.why = why.or(self.why);
        done
    }
}
