//! The kernel's list syntax (`0-3,8`) and its bracketed choices
//! (`always [madvise] never`).

use std::collections::BTreeSet;

/// The largest member a list may have; no kernel has more nodes or CPUs, and
/// it keeps a hostile `0-4294967295` from filling the memory.
const LARGEST: u32 = 65535;

/// Reads a list such as `0-3,8`, with the stride form `0-31:2/4` of
/// `bitmap_parselist()`. An empty text is an empty list.
pub fn parse_list(text: &str) -> Option<BTreeSet<u32>> {
    let mut members = BTreeSet::new();
    let text = text.trim();
    if text.is_empty() {
        return Some(members);
    }
    for part in text.split(',') {
        let (range, stride) = match part.split_once(':') {
            None => (part, None),
            Some((range, stride)) => (range, Some(parse_stride(stride)?)),
        };
        let (first, last) = match range.split_once('-') {
            None => (parse_member(range)?, parse_member(range)?),
            Some((first, last)) => (parse_member(first)?, parse_member(last)?),
        };
        if first > last {
            return None;
        }
        match stride {
            None => members.extend(first..=last),
            Some((used, group)) => {
                members.extend((first..=last).filter(|n| (n - first) % group < used));
            }
        }
    }
    Some(members)
}

fn parse_member(text: &str) -> Option<u32> {
    if !text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    text.parse().ok().filter(|n| *n <= LARGEST)
}

fn parse_stride(text: &str) -> Option<(u32, u32)> {
    let (used, group) = text.split_once('/')?;
    let (used, group) = (parse_member(used)?, parse_member(group)?);
    (group > 0 && used <= group).then_some((used, group))
}

/// Writes a list in the shortest form, as the kernel prints it.
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

/// The chosen word of a line such as `always [madvise] never`. A line of one
/// word without brackets is that word: recorded trees hold what was written.
pub fn chosen(text: &str) -> Option<&str> {
    let text = text.trim();
    if let Some((_, rest)) = text.split_once('[') {
        return rest.split_once(']').map(|(word, _)| word);
    }
    (!text.is_empty() && !text.contains(char::is_whitespace)).then_some(text)
}

/// All words of a line such as `always [madvise] never`, where it is one: the
/// kernel's choices. Recorded trees that were written to have none.
pub fn choices(text: &str) -> Option<Vec<String>> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let marked = |word: &&&str| word.starts_with('[') && word.ends_with(']');
    (words.iter().filter(marked).count() == 1).then(|| {
        let plain = |word: &&str| word.trim_matches(['[', ']']).to_owned();
        words.iter().map(plain).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> Option<Vec<u32>> {
        parse_list(text).map(|members| members.into_iter().collect())
    }

    #[test]
    fn lists_as_the_kernel_prints_them() {
        assert_eq!(list("0-3,5-7\n"), Some(vec![0, 1, 2, 3, 5, 6, 7]));
        assert_eq!(list("8"), Some(vec![8]));
        assert_eq!(list("\n"), Some(vec![]));
        assert_eq!(list("0-7:2/4"), Some(vec![0, 1, 4, 5]));
    }

    #[test]
    fn odd_lists_are_refused() {
        for text in [
            "3-1",
            "a",
            "1,",
            ",1",
            "1--2",
            "-1",
            "0-99999999",
            "0-7:1/0",
            "0-7:3/2",
            "+1",
        ] {
            assert_eq!(list(text), None, "{text}");
        }
    }

    #[test]
    fn the_choice_is_the_bracketed_word() {
        assert_eq!(chosen("always [madvise] never\n"), Some("madvise"));
        assert_eq!(chosen("never\n"), Some("never"));
        assert_eq!(chosen("always madvise\n"), None);
        assert_eq!(chosen("always [madv"), None);
        let words = choices("always [madvise] never\n").unwrap();
        assert_eq!(words, ["always", "madvise", "never"]);
        assert_eq!(choices("never\n"), None);
    }

    proptest! {
        #[test]
        fn parsing_never_panics(text in "[0-9,:/ -]{0,40}") {
            let _ = parse_list(&text);
        }

        #[test]
        fn what_is_printed_is_read_back(members in prop::collection::btree_set(0u32..2000, 0..50)) {
            prop_assert_eq!(parse_list(&format_list(&members)), Some(members));
        }
    }
}
