//! The pages that a segment got.

use super::reason::Reason;
use super::rungs::Piece;

/// Bytes of a segment by kind of page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Placement {
    /// All bytes that whole huge pages could hold.
    pub whole: usize,
    /// On huge pages of its file.
    pub page_cache: usize,
    /// On pool pages.
    pub pool: usize,
    /// Advised to use transparent huge pages.
    pub thp: usize,
    /// Why part of it isn't on better pages.
    pub why: Option<Reason>,
}

impl Placement {
    /// Bytes that are on huge pages or advised to be.
    pub fn bytes(&self) -> usize {
        self.page_cache + self.pool + self.thp
    }

    /// The reason to report.
    pub fn why(&self) -> Option<Reason> {
        match self.whole {
            0 => Some(Reason::Small),
            _ => self.why,
        }
    }

    /// Adds another segment.
    pub fn add(&mut self, other: Placement) {
        self.whole += other.whole;
        self.page_cache += other.page_cache;
        self.pool += other.pool;
        self.thp += other.thp;
        self.why = self.why.or(other.why);
    }

    /// Counts the result of asking a pool for a piece; returns the bytes moved.
    pub fn add_from_pool(&mut self, piece: &Piece, done: Result<usize, Reason>) -> usize {
        let wanted = piece.range.len();
        let (done, why) = match done {
            Ok(done) if done < wanted => (done, Some(piece.shortfall(wanted - done))),
            Ok(done) => (done, None),
            Err(why) => (0, Some(why)),
        };
        self.pool += done;
        self.why = why.or(self.why);
        done
    }
}
