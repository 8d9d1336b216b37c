//! Parses the output of `segments.h`.

use super::{field, find_line};

/// A line such as `text whole_kb=1 pool_kb=2 thp_kb=3 file_kb=4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SegmentPages {
    /// KiB in whole huge pages.
    pub(crate) whole: u64,
    pub(crate) pool: u64,
    pub(crate) thp: u64,
    pub(crate) file: u64,
}

impl SegmentPages {
    /// Returns the line of text, data or bss.
    pub(crate) fn find(output: &str, segment: &str) -> SegmentPages {
        let line = find_line(output, segment);
        SegmentPages {
            whole: field(line, "whole_kb"),
            pool: field(line, "pool_kb"),
            thp: field(line, "thp_kb"),
            file: field(line, "file_kb"),
        }
    }

    /// Returns all huge pages, in KiB.
    pub(crate) fn huge(self) -> u64 {
        self.pool + self.thp + self.file
    }

    /// Whether at least 99 % of `whole` are huge.
    pub(crate) fn is_huge(self) -> bool {
        self.huge() * 100 >= self.whole * 99
    }
}
