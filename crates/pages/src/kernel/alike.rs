//! Mappings that lie side by side and are alike: a kernel can have made one of them, and it
//! may not, where huge pages were advised for some.

use core::ops::Range;

use hugetools_kernfs::smaps;

use crate::kernel::procfile::{each_line, number};
use crate::sys::{self, Errno, Policy};

/// So many are looked at.
pub const MOST: usize = 16;

/// What of `VmFlags` may differ: advice about huge pages, and what the kernel notes of
/// changes, which hinders it in nothing.
const MAY_DIFFER: [&[u8]; 2] = [b"hg", b"sd"];

/// The mappings of a range, as far as they lie in it.
#[derive(Debug)]
pub struct Parts {
    start: usize,
    ends: [usize; MOST],
    count: usize,
}

impl Parts {
    /// Each, from the lowest on.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Range<usize>> + '_ {
        let start = |at: usize| match at {
            0 => self.start,
            at => self.ends[at - 1],
        };
        (0..self.count).map(move |at| start(at)..self.ends[at])
    }

    /// Where one ends and the next begins.
    pub fn borders(&self) -> impl Iterator<Item = usize> + '_ {
        self.iter().skip(1).map(|part| part.start)
    }
}

/// The mappings that a range of private memory without a file consists of, where none is
/// missing and all have the same rights, names, advice and policies, but for advice about
/// huge pages. `None` where it is otherwise, or cannot be told.
pub fn parts(range: &Range<usize>) -> Option<Parts> {
    let mut walk = Walk {
        range: range.clone(),
        mapping: 0..0,
        name: Text::EMPTY,
        first: None,
        parts: Parts {
            start: range.start,
            ends: [0; MOST],
            count: 0,
        },
    };
    let is_whole = each_line(c"/proc/self/smaps", |line| walk.line(line));
    (is_whole == Some(true)).then_some(walk.parts)
}

/// Whether the process may have so many mappings more. No where it cannot be told.
pub fn has_room(more: usize) -> bool {
    let mut count = 0;
    let counted = each_line(c"/proc/self/maps", |_| {
        count += 1;
        None::<()>
    });
    let most = number(c"/proc/sys/vm/max_map_count");
    let most = most.and_then(|most| usize::try_from(most).ok());
    counted.is_none() && count > 0 && most.is_some_and(|most| count + more <= most)
}

/// A line's words, or a name; none that is longer.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Text {
    bytes: [u8; 128],
    len: usize,
}

impl Text {
    const EMPTY: Text = Text {
        bytes: [0; 128],
        len: 0,
    };

    fn add(&mut self, bytes: &[u8]) -> Option<()> {
        let end = self.len + bytes.len();
        self.bytes.get_mut(self.len..end)?.copy_from_slice(bytes);
        self.len = end;
        Some(())
    }

    fn of(bytes: &[u8]) -> Option<Text> {
        let mut text = Text::EMPTY;
        text.add(bytes)?;
        Some(text)
    }

    /// The words of `VmFlags` that all parts must have.
    fn of_flags(flags: &[u8]) -> Option<Text> {
        let words = flags.split(|byte| *byte == b' ');
        let mut text = Text::EMPTY;
        for word in words.filter(|word| !MAY_DIFFER.contains(word)) {
            text.add(word)?;
            text.add(b" ")?;
        }
        Some(text)
    }
}

/// What all parts must be like.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Like {
    flags: Text,
    name: Text,
    policy: Policy,
}

/// A walk through the lines of smaps.
struct Walk {
    range: Range<usize>,
    /// The mapping whose lines are read; empty for what is passed over.
    mapping: Range<usize>,
    name: Text,
    first: Option<Like>,
    parts: Parts,
}

impl Walk {
    /// Whether all is so, once it is known.
    fn line(&mut self, line: &[u8]) -> Option<bool> {
        if let Some(flags) = line.strip_prefix(b"VmFlags:") {
            return match self.mapping.is_empty() {
                true => None,
                false => self.flags(flags),
            };
        }
        let record = smaps::records(line).next()?;
        let address = |word| usize::try_from(word).unwrap_or(usize::MAX);
        let mapping = address(record.start)..address(record.end);
        self.mapping = 0..0;
        let next = self.next();
        if mapping.end <= next {
            return None;
        }
        let is_private = !record.shared && record.inode == 0;
        match Text::of(record.name) {
            Some(name) if is_private && mapping.start <= next => {
                self.name = name;
                self.mapping = mapping;
                None
            }
            _ => Some(false),
        }
    }

    /// Where the next part begins.
    fn next(&self) -> usize {
        match self.parts.count {
            0 => self.range.start,
            count => self.parts.ends[count - 1],
        }
    }

    fn flags(&mut self, flags: &[u8]) -> Option<bool> {
        let (text, policy) = (Text::of_flags(flags), policy(self.next()));
        let Some((flags, policy)) = text.zip(policy) else {
            return Some(false);
        };
        let name = self.name;
        let like = Like {
            flags,
            name,
            policy,
        };
        if *self.first.get_or_insert(like) != like || self.parts.count == MOST {
            return Some(false);
        }
        let end = self.mapping.end.min(self.range.end);
        self.parts.ends[self.parts.count] = end;
        self.parts.count += 1;
        (end == self.range.end).then_some(true)
    }
}

/// The memory policy at an address. A kernel without any has none to tell.
fn policy(at: usize) -> Option<Policy> {
    match sys::policy_of(at) {
        Ok(policy) => Some(policy),
        Err(Errno(libc::ENOSYS)) => Some(Policy::DEFAULT),
        Err(_) => None,
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "maps memory to look at")]
mod tests {
    use super::*;

    const RW: i32 = libc::PROT_READ | libc::PROT_WRITE;

    fn map(pages: usize) -> Range<usize> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let page = sys::page_size();
        let len = (pages + 2) * page;
        // SAFETY: a new mapping.
        let at = unsafe { sys::mmap(0, len, RW, flags, -1, 0) }.unwrap();
        for end in [at, at + len - page] {
            // SAFETY: what was mapped just now; so nothing is beside it.
            unsafe { sys::munmap(end, page) }.unwrap();
        }
        at + page..at + len - page
    }

    fn count(range: &Range<usize>) -> Option<usize> {
        parts(range).map(|parts| parts.iter().count())
    }

    #[test]
    fn what_was_advised_apart_is_alike() {
        let page = sys::page_size();
        let range = map(8);
        assert_eq!(count(&range), Some(1));
        // SAFETY: memory of the test.
        let advised = unsafe { sys::madvise(range.start, 3 * page, libc::MADV_HUGEPAGE) };
        // SAFETY: likewise.
        unsafe { sys::madvise(range.start + 5 * page, page, libc::MADV_HUGEPAGE).unwrap() };
        advised.unwrap();
        let found = parts(&(range.start + page..range.end - page)).unwrap();
        let at = |page_number: usize| range.start + page_number * page;
        let borders = [at(3), at(5), at(6)];
        assert!(found.borders().eq(borders));
        assert_eq!(found.iter().next_back(), Some(at(6)..at(7)));
        assert_eq!(found.iter().next(), Some(at(1)..at(3)));
    }

    #[test]
    fn what_a_program_did_to_a_part_is_not() {
        type Change = fn(usize, usize);
        let changes: [Change; 5] = [
            // SAFETY: memory of the test, for each of these.
            |at, len| unsafe { sys::mprotect(at, len, libc::PROT_READ).unwrap() },
            // SAFETY: likewise.
            |at, len| unsafe { sys::madvise(at, len, libc::MADV_DONTFORK).unwrap() },
            // SAFETY: likewise.
            |at, len| unsafe { sys::madvise(at, len, libc::MADV_NOHUGEPAGE).unwrap() },
            // SAFETY: likewise.
            |at, len| unsafe { sys::munmap(at, len).unwrap() },
            // SAFETY: likewise.
            |at, len| unsafe { Policy::prefer(0).set(at, len).unwrap() },
        ];
        let page = sys::page_size();
        for (index, change) in changes.into_iter().enumerate() {
            let range = map(8);
            change(range.start + 3 * page, page);
            assert_eq!(count(&range), None, "change {index}");
            assert_eq!(count(&(range.start..range.start + 3 * page)), Some(1));
        }
        let range = map(2 * MOST);
        for at in range.clone().step_by(2 * page) {
            // SAFETY: memory of the test.
            unsafe { sys::madvise(at, page, libc::MADV_HUGEPAGE).unwrap() };
        }
        assert_eq!(count(&range), None, "too many");
        assert_eq!(count(&(range.start..range.start + MOST * page)), Some(MOST));
    }

    #[test]
    fn there_is_room_for_some_mappings() {
        assert!(has_room(10) && !has_room(usize::MAX / 2));
    }
}
