//! What a run must not leave half done: noted in a file before it is begun and
//! taken out of it afterwards, so that a run that is killed in between leaves
//! word for the next one.
//!
//! A pool's minimum and overcommit are two files of the kernel. Between the
//! two writes of a change its maximum is another than before and after, and
//! nothing but this note tells which it was.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::PathBuf;

use hugetools_model::{PageCount, PageSize};

/// What is being changed just now, or what a killed run left.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Unfinished {
    /// The maximums that pools had before.
    pub maximums: BTreeMap<PageSize, PageCount>,
    /// Swap that is to go again.
    pub swaps: BTreeSet<PathBuf>,
}

impl Unfinished {
    /// Whether there is nothing.
    pub fn is_empty(&self) -> bool {
        self.maximums.is_empty() && self.swaps.is_empty()
    }

    /// The text of the file: one thing on a line.
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

    /// Reads the text. Lines that are odd are left out: the run that wrote
    /// them may have been killed while it did.
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
    fn a_note_that_was_cut_off_loses_only_its_last_line() {
        let text = "maximum 2097152 81\nswap /dev/ram0\nmaximum 1073741824 12";
        let found = Unfinished::parse(text);
        let size = PageSize::new(2 << 20).unwrap();
        assert_eq!(found.maximums, BTreeMap::from([(size, PageCount::new(81))]));
        assert_eq!(found.swaps, BTreeSet::from([PathBuf::from("/dev/ram0")]));
        let odd = "maximum 0 1\nmaximum x 1\nswap ram0\nother\n\n";
        assert!(Unfinished::parse(odd).is_empty());
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(
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
