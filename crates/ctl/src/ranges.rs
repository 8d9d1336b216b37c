//! Ranges of bytes.

use std::ops::Range;

/// Returns the ranges sorted; merges overlapping and adjacent ones.
pub(crate) fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let ranges = vec![9..11, 5..9, 20..21, 6..8, 11..11];
        assert_eq!(joined(ranges), [5..11, 20..21]);
        assert!(joined(Vec::new()).is_empty());
    }
}
