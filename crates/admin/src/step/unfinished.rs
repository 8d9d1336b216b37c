//! The note about unfinished work. It is written before the work starts and cleared
//! afterwards, so that the next run can clean up after a kill.
//!
//! A pool's minimum and overcommit are two kernel files. Between the two writes of a
//! change the maximum is temporarily wrong, and only the note has the right value.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use hugetools_model::{PageCount, PageSize};

/// Unfinished work of this run or of a killed one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unfinished {
    /// The maximums of pools before the change.
    pub maximums: BTreeMap<PageSize, PageCount>,
    /// Swap to remove.
    pub swaps: BTreeSet<PathBuf>,
}

impl Unfinished {
    /// Whether nothing is unfinished.
    pub fn is_empty(&self) -> bool {
        self.maximums.is_empty() && self.swaps.is_empty()
    }

    /// Formats the file, one item per line.
    pub fn format(&self) -> String {
        let mut text = String::new();
        for (size, maximum) in &self.maximums {
            let _ = writeln!(text, "maximum {} {maximum}", size.get());
        }
        for path in &self.swaps {
            let _ = writeln!(text, "swap {}", path.display());
        }
        text
    }

    /// Parses the file. Skips invalid lines, because the run may have been killed
    /// while it wrote them.
    pub fn parse(text: &str) -> Unfinished {
        let mut found = Unfinished::default();
        for line in text.split_inclusive('\n') {
            let Some(line) = line.strip_suffix('\n') else {
                break;
            };
            match line.split_once(' ') {
                Some(("maximum", pool)) => found.maximums.extend(parse_maximum(pool)),
                Some(("swap", path)) if path.starts_with('/') => {
                    found.swaps.insert(PathBuf::from(path));
                }
                _ => {}
            }
        }
        found
    }
}

fn parse_maximum(text: &str) -> Option<(PageSize, PageCount)> {
    let (size, pages) = text.split_once(' ')?;
    let size = PageSize::new(size.parse().ok()?)?;
    Some((size, PageCount::new(pages.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_truncated_note_loses_only_its_last_line() {
        let text = "maximum 2097152 81\nswap /dev/ram0\nmaximum 1073741824 12";
        let found = Unfinished::parse(text);
        let size = PageSize::new(2 << 20).unwrap();
        assert_eq!(found.maximums, BTreeMap::from([(size, PageCount::new(81))]));
        assert_eq!(found.swaps, BTreeSet::from([PathBuf::from("/dev/ram0")]));
        let invalid = "maximum 0 1\nmaximum x 1\nswap ram0\nother\n\n";
        assert!(Unfinished::parse(invalid).is_empty());
    }

    proptest! {
        #[test]
        fn parses_its_own_output(
            pools in prop::collection::btree_map(1..=u64::MAX, any::<u64>(), 0..4),
            swaps in prop::collection::btree_set("/[a-z ]{1,8}", 0..3),
        ) {
            let pools = pools.into_iter();
            let note = Unfinished {
                maximums: pools
                    .map(|(size, pages)| (PageSize::new(size).unwrap(), PageCount::new(pages)))
                    .collect(),
                swaps: swaps.into_iter().map(PathBuf::from).collect(),
            };
            prop_assert_eq!(Unfinished::parse(&note.format()), note);
        }

        #[test]
        fn parsing_never_panics(text in "\\PC*") {
            let _ = Unfinished::parse(&text);
        }
    }
}
