//! Whether the program treats memory of ours in ways of its own: other
//! protection or advice, or a memory policy, for parts of it. Such memory is
//! not replaced, since what takes its place would know nothing of that.

use core::ops::Range;

use hugetools_kernfs::smaps;

use crate::kernel::procfile::each_line;
use crate::sys::{self, Policy};

/// What `VmFlags` says of private memory that may be read and written, with
/// advice about huge pages or without.
const USUAL: [&[u8]; 10] = [
    b"rd", b"wr", b"mr", b"mw", b"me", b"nr", b"ac", b"sd", b"hg", b"nh",
];

/// Whether a range is mapped readable and writable, and nothing else was done to
/// it; no where it cannot be told. Since Linux 3.8.
pub fn is_usual(range: &Range<usize>) -> bool {
    let mut walk = Walk::over(range);
    let answer = each_line(c"/proc/self/smaps", |line| walk.line(line));
    answer == Some(true)
}

/// A walk through the lines of smaps.
struct Walk {
    /// What was not seen yet.
    rest: Range<usize>,
    /// The mapping whose lines are read.
    mapping: Range<usize>,
}

impl Walk {
    fn over(range: &Range<usize>) -> Walk {
        Walk {
            rest: range.clone(),
            mapping: 0..0,
        }
    }

    /// The answer, once it is known.
    fn line(&mut self, line: &[u8]) -> Option<bool> {
        if let Some(flags) = line.strip_prefix(b"VmFlags:") {
            return self.flags(flags);
        }
        let record = smaps::records(line).next()?;
        let address = |word| usize::try_from(word).unwrap_or(usize::MAX);
        self.mapping = address(record.start)..address(record.end);
        None
    }

    fn flags(&mut self, flags: &[u8]) -> Option<bool> {
        if self.mapping.end <= self.rest.start {
            return None;
        }
        let words = || flags.split(|byte| *byte == b' ');
        let has = |flag: &[u8]| words().any(|word| word == flag);
        let all = words().all(|word| word.is_empty() || USUAL.contains(&word));
        let is_usual = all && has(b"rd") && has(b"wr");
        if self.mapping.start > self.rest.start || !is_usual || self.has_policy() {
            return Some(false);
        }
        self.rest.start = self.mapping.end;
        (self.rest.start >= self.rest.end).then_some(true)
    }

    /// Whether the program has said by `mbind(2)` from where its pages come.
    fn has_policy(&self) -> bool {
        sys::policy_of(self.rest.start).is_ok_and(|policy| policy != Policy::DEFAULT)
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "maps memory to look at")]
mod tests {
    use super::*;

    fn map(pages: usize) -> Range<usize> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let len = pages * sys::page_size();
        // SAFETY: a new mapping.
        let addr = unsafe { sys::mmap(0, len, prot, flags, -1, 0).unwrap() };
        addr..addr + len
    }

    #[test]
    fn memory_as_it_was_mapped_is_usual() {
        let range = map(16);
        assert!(is_usual(&range));
        // SAFETY: memory of the test.
        unsafe { sys::madvise(range.start, range.len(), libc::MADV_HUGEPAGE).unwrap() };
        assert!(is_usual(&range));
    }

    #[test]
    fn what_a_program_does_to_one_page_is_seen() {
        let page = sys::page_size();
        type Change = fn(usize, usize);
        let changes: [Change; 4] = [
            // SAFETY: memory of the test, for each of these.
            |at, len| unsafe { sys::mprotect(at, len, libc::PROT_READ).unwrap() },
            // SAFETY: likewise.
            |at, len| unsafe { sys::madvise(at, len, libc::MADV_DONTFORK).unwrap() },
            // SAFETY: likewise.
            |at, len| unsafe { sys::munmap(at, len).unwrap() },
            |at, len| {
                let node = 1_u64;
                let (mode, mask) = (libc::MPOL_BIND as usize, (&raw const node) as usize);
                // SAFETY: likewise, and a mask of 64 bits.
                unsafe { sys::mbind(at, len, mode, mask, 64, 0).unwrap() }
            },
        ];
        for (index, change) in changes.into_iter().enumerate() {
            let range = map(16);
            change(range.start + 3 * page, page);
            assert!(!is_usual(&range), "change {index}");
            assert!(is_usual(&(range.start..range.start + 3 * page)));
            assert!(is_usual(&(range.start + 4 * page..range.end)));
        }
    }
}
