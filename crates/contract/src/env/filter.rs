//! System calls refused by a seccomp filter, as hugectl reports them to the library.
//!
//! A filter's verdict is known only after the call, and the filter may kill the caller. So hugectl
//! tries the calls in a child process, and the library avoids the refused ones. Calls that the
//! library always needs are not tried.

use core::fmt;

use super::value::{parse_number, split_at_colon};

/// System calls that a filter refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RefusedCalls {
    /// `mremap(2)`. Without it no copy can replace a mapping.
    pub mremap: bool,
    /// `madvise(2)`. Without it no mapping can request transparent huge pages.
    pub madvise: bool,
    /// `mprotect(2)` with PROT_EXEC. Without it no copy of text can be executed.
    pub mprotect_exec: bool,
    /// `memfd_create(2)` or `ftruncate(2)`. Without them text gets no pool pages.
    pub memfd_create: bool,
}

/// The seccomp filters that hugectl ran under, and their verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    /// The number of filters, as in `Seccomp_filters` of `/proc/PID/status` (Linux 5.9).
    /// In a process with another number, the filters are untested.
    pub count: u32,
    /// The calls that at least one of them refuses.
    pub refused: RefusedCalls,
}

impl Filter {
    /// Reads `COUNT:CALL,…`.
    pub fn read(value: &[u8]) -> Option<Filter> {
        let (count, calls) = split_at_colon(value)?;
        let mut refused = RefusedCalls::default();
        for call in calls.split(|byte| *byte == b',') {
            match call {
                b"mremap" => refused.mremap = true,
                b"madvise" => refused.madvise = true,
                b"mprotect" => refused.mprotect_exec = true,
                b"memfd_create" => refused.memfd_create = true,
                b"" => {}
                _ => return None,
            }
        }
        let count = parse_number(count)?;
        Some(Filter { count, refused })
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.count)?;
        let mut comma = "";
        let all = [
            ("mremap", self.refused.mremap),
            ("madvise", self.refused.madvise),
            ("mprotect", self.refused.mprotect_exec),
            ("memfd_create", self.refused.memfd_create),
        ];
        for (name, _) in all.iter().filter(|(_, is_refused)| *is_refused) {
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
    fn written_values_parse_back() {
        let refused = RefusedCalls {
            mremap: true,
            mprotect_exec: true,
            ..RefusedCalls::default()
        };
        for (count, refused, text) in [
            (1, RefusedCalls::default(), "1:"),
            (2, refused, "2:mremap,mprotect"),
        ] {
            let filter = Filter { count, refused };
            assert_eq!(filter.to_string(), text);
            assert_eq!(Filter::read(text.as_bytes()), Some(filter));
        }
        for invalid in ["", "1", "x:", ":mremap", "1:mmap", "1:mremap madvise"] {
            assert_eq!(Filter::read(invalid.as_bytes()), None, "{invalid}");
        }
    }
}
