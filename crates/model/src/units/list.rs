//! The kernel's list syntax (`0-3,8`), as sets.

use std::collections::BTreeSet;

use hugetools_kernfs::list::{Invalid, members};

/// Parses a list (syntax: [`hugetools_kernfs::list`]). An empty text is an empty list.
pub fn parse_list(text: &str) -> Option<BTreeSet<u32>> {
    let members: Result<BTreeSet<u32>, Invalid> = members(text.as_bytes()).collect();
    members.ok()
}

/// Writes a list as the kernel prints it, with ranges.
pub fn format_list(members: &BTreeSet<u32>) -> String {
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for &member in members {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == member => *last = member,
            _ => runs.push((member, member)),
        }
    }
    let parts: Vec<String> = runs
        .iter()
        .map(|(first, last)| match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        })
        .collect();
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn printed_lists_parse_back(members in prop::collection::btree_set(0u32..2000, 0..50)) {
            prop_assert_eq!(parse_list(&format_list(&members)), Some(members));
        }
    }
}
