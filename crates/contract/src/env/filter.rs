//! What hugectl has found out about a filter of system calls (`seccomp(2)`).
//!
//! What a filter does with a call shows only where the call is made, and it may end
//! who makes it. So hugectl has a process of its own try those that a program does
//! not need and that move it to huge pages, and the library leaves out what was not
//! let through.

use core::fmt;

/// System calls that a filter does not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Barred {
    /// `mremap(2)`, which puts a copy in its place.
    pub mremap: bool,
    /// `madvise(2)`, which asks for transparent huge pages.
    pub madvise: bool,
    /// `mprotect(2)` of what is to be executed, without which no copy of text can be.
    pub mprotect: bool,
    /// `memfd_create(2)` or `ftruncate(2)`, without which text has no pages of a pool.
    pub memfd_create: bool,
}

impl Barred {
    fn names(self) -> impl Iterator<Item = &'static str> {
        let all = [
            ("mremap", self.mremap),
            ("madvise", self.madvise),
            ("mprotect", self.mprotect),
            ("memfd_create", self.memfd_create),
        ];
        all.into_iter()
            .filter_map(|(name, is_barred)| is_barred.then_some(name))
    }
}

/// The filters that hugectl ran under, and what they do not let through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    /// How many there were, as `Seccomp_filters` of `/proc/PID/status` has it (Linux 5.9):
    /// where there are others by now, they were set later, and nobody has tried them.
    pub count: u32,
    /// What they do not let through.
    pub barred: Barred,
}

impl Filter {
    /// Reads `COUNT:CALL,…`.
    pub fn read(value: &[u8]) -> Option<Filter> {
        let colon = value.iter().position(|byte| *byte == b':')?;
        let (count, calls) = (value.get(..colon)?, value.get(colon + 1..)?);
        let mut barred = Barred::default();
        for call in calls.split(|byte| *byte == b',') {
            match call {
                b"mremap" => barred.mremap = true,
                b"madvise" => barred.madvise = true,
                b"mprotect" => barred.mprotect = true,
                b"memfd_create" => barred.memfd_create = true,
                b"" => {}
                _ => return None,
            }
        }
        let count = super::value::number(count)?;
        Some(Filter { count, barred })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.count)?;
        let mut comma = "";
        for name in self.barred.names() {
            write!(f, "{comma}{name}")?;
            comma = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::string::ToString;

    #[test]
    fn what_is_written_is_read() {
        let all = Barred {
            mremap: true,
            madvise: true,
            mprotect: true,
            memfd_create: true,
        };
        let some = Barred {
            madvise: false,
            memfd_create: false,
            ..all
        };
        for (count, barred, text) in [
            (1, Barred::default(), "1:"),
            (2, some, "2:mremap,mprotect"),
            (0, all, "0:mremap,madvise,mprotect,memfd_create"),
        ] {
            let filter = Filter { count, barred };
            assert_eq!(filter.to_string(), text);
            assert_eq!(Filter::read(text.as_bytes()), Some(filter));
        }
        for wrong in ["", "1", "x:", ":mremap", "1:mmap", "1:mremap madvise"] {
            assert_eq!(Filter::read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
