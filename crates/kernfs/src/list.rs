//! The kernel's lists of nodes and processors: `0-3,8`, and the stride form
//! `0-31:2/4` of `bitmap_parselist()`.

use crate::number;

/// The largest accepted member. No kernel has more nodes or CPUs. Without this bound, a
/// hostile `0-4294967295` would fill the memory.
const LARGEST: u64 = 65535;

/// A part of a list is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invalid;

/// One part, `first-last:used/group`: the first `used` of every `group` numbers in the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Part {
    first: u32,
    last: u32,
    used: u32,
    group: u32,
}

impl Part {
    fn parse(text: &[u8]) -> Option<Part> {
        let (first, mut rest) = member(text)?;
        let mut part = Part {
            first,
            last: first,
            used: 1,
            group: 1,
        };
        if let Some(last) = rest.strip_prefix(b"-") {
            (part.last, rest) = member(last)?;
        }
        if let Some(stride) = rest.strip_prefix(b":") {
            (part.used, rest) = member(stride)?;
            (part.group, rest) = member(rest.strip_prefix(b"/")?)?;
        }
        let is_valid = part.first <= part.last && part.group > 0 && part.used <= part.group;
        (is_valid && rest.is_empty()).then_some(part)
    }

    fn members(self) -> impl Iterator<Item = u32> {
        let is_used = move |n: &u32| (n - self.first) % self.group < self.used;
        (self.first..=self.last).filter(is_used)
    }
}

fn member(text: &[u8]) -> Option<(u32, &[u8])> {
    let (number, rest) = number::decimal(text).filter(|(number, _)| *number <= LARGEST)?;
    Some((u32::try_from(number).ok()?, rest))
}

/// Returns the members in the order of the text, duplicates included. An empty text is an
/// empty list. Each invalid part yields [`Invalid`].
pub fn members(text: &[u8]) -> impl Iterator<Item = Result<u32, Invalid>> {
    let text = text.trim_ascii();
    let parts = (!text.is_empty()).then(|| text.split(|byte| *byte == b','));
    let parts = parts.into_iter().flatten().map(Part::parse);
    parts.flat_map(|part| {
        let invalid = part.is_none().then_some(Err(Invalid));
        let members = part.into_iter().flat_map(Part::members).map(Ok);
        members.chain(invalid)
    })
}

/// Whether every member of `inner` is in `outer`; `None` if one of the lists is invalid.
pub fn covers(outer: &[u8], inner: &[u8]) -> Option<bool> {
    let is_odd = |list| members(list).any(|member| member.is_err());
    if is_odd(outer) || is_odd(inner) {
        return None;
    }
    Some(members(inner).all(|n| members(outer).any(|other| other == n)))
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec;
    use std::vec::Vec;

    fn list(text: &str) -> Result<Vec<u32>, Invalid> {
        members(text.as_bytes()).collect()
    }

    #[test]
    fn lists_as_the_kernel_prints_them() {
        assert_eq!(list("0-3,5-7\n"), Ok(vec![0, 1, 2, 3, 5, 6, 7]));
        assert_eq!(list("8"), Ok(vec![8]));
        assert_eq!(list("\n"), Ok(vec![]));
        assert_eq!(list("0-7:2/4"), Ok(vec![0, 1, 4, 5]));
    }

    #[test]
    fn invalid_lists_are_errors() {
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
            "1 2",
        ] {
            assert_eq!(list(text), Err(Invalid), "{text}");
        }
    }

    #[test]
    fn a_list_covers_its_subsets() {
        assert_eq!(covers(b"0-7\n", b"0-3,5-7"), Some(true));
        assert_eq!(covers(b"0", b"0"), Some(true));
        assert_eq!(covers(b"0-1", b"0-3"), Some(false));
        assert_eq!(covers(b"", b"0"), Some(false));
        assert_eq!(covers(b"0-3", b"0,x"), None);
    }
}
