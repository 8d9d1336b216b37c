//! The seccomp filters of hugectl, which the program inherits. They may refuse the calls that
//! move memory to huge pages.

use hugetools_contract::env;
use hugetools_model::{FileError, KPath, Root, keyed};

use crate::sys::filter::{Call, answer, is_active};

pub(crate) use crate::sys::filter::Answer;

/// The file with this process's filters, groups and capabilities.
pub(crate) const STATUS: &str = "/proc/self/status";

/// The seccomp filters of this process, and their effect on some calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    pub(crate) is_set: bool,
    /// The number of filters; 0 if unknown.
    count: u32,
    mremap: Answer,
    pub(crate) madvise: Answer,
    /// `mprotect(2)` with PROT_EXEC.
    mprotect: Answer,
    pub(crate) policy: Answer,
    pub(crate) truncate: Answer,
    memory_file: Answer,
}

impl Filter {
    /// Returns the filters of this process. If there are any, tries each call in a child.
    pub fn probe(root: &Root) -> Result<Filter, FileError> {
        if !root.is_live() || !is_active() {
            return Ok(Filter::default());
        }
        let status = root.read_opt(&KPath::from(STATUS))?;
        let count = status.and_then(|text| keyed::number(&text, b"Seccomp_filters:"));
        Ok(Filter {
            is_set: true,
            count: count.map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX)),
            mremap: answer(Call::Mremap),
            madvise: answer(Call::Madvise),
            mprotect: answer(Call::Mprotect),
            policy: answer(Call::GetMempolicy),
            truncate: answer(Call::Truncate),
            memory_file: answer(Call::MemfdCreate),
        })
    }

    pub(crate) fn env_value(&self) -> env::Filter {
        let is_refused = |answer| answer != Answer::Allowed;
        env::Filter {
            count: self.count,
            refused: env::RefusedCalls {
                mremap: is_refused(self.mremap),
                madvise: is_refused(self.madvise),
                mprotect_exec: is_refused(self.mprotect),
                memfd_create: self.refused_file_call().is_some(),
            },
        }
    }

    /// The calls that pool files need.
    fn file_calls(&self) -> [(Answer, &'static str); 2] {
        [
            (self.memory_file, "memfd_create"),
            (self.truncate, "ftruncate"),
        ]
    }

    /// Returns the first refused call that pool files need.
    pub(crate) fn refused_file_call(&self) -> Option<&'static str> {
        first_call(&self.file_calls(), |answer| answer != Answer::Allowed)
    }

    /// Returns the first refused call that a copy of data needs, or of text if `is_text`.
    pub(crate) fn refused_copy_call(&self, is_text: bool) -> Option<&'static str> {
        let calls = [(self.mremap, "mremap"), (self.mprotect, "mprotect")];
        let needed = if is_text { &calls[..] } else { &calls[..1] };
        first_call(needed, |answer| answer != Answer::Allowed)
    }

    /// Returns a call for which the filters would kill a hugectl that waits for a program.
    pub fn call_that_kills_waiting(&self) -> Option<&'static str> {
        first_call(&self.file_calls(), |answer| answer == Answer::Kills)
    }
}

fn first_call(
    calls: &[(Answer, &'static str)],
    is_it: impl Fn(Answer) -> bool,
) -> Option<&'static str> {
    let mut calls = calls.iter().filter(|(answer, _)| is_it(*answer));
    calls.next().map(|(_, name)| *name)
}
