//! Filters of system calls (`seccomp(2)`) that hugectl runs under, and the program after
//! it: what they do with calls that move memory to huge pages.

use hugetools_contract::env;
use hugetools_model::{FileError, KPath, Root, keyed};

use crate::sys::filter::{Call, tried};

pub use crate::sys::filter::Answer;

/// What tells of filters.
pub const STATUS: &str = "/proc/self/status";

/// The filters of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Filter {
    /// Whether there are some, or may be.
    pub is_there: bool,
    /// How many, as far as that is told.
    count: u32,
    /// Whether [`STATUS`] says that there are: where it is hidden, trying tells.
    pub is_told: bool,
    /// What becomes of `mremap(2)`.
    pub mremap: Answer,
    /// What becomes of `madvise(2)`.
    pub madvise: Answer,
    /// What becomes of `mprotect(2)`, to what may be executed.
    pub mprotect: Answer,
    /// What becomes of `prctl(2)`.
    pub prctl: Answer,
    /// What becomes of `get_mempolicy(2)`.
    pub policy: Answer,
    /// What becomes of `ftruncate(2)`.
    pub truncate: Answer,
    /// What becomes of `memfd_create(2)`.
    pub memory_file: Answer,
}

impl Filter {
    /// Looks, and where there is one, tries.
    ///
    /// # Errors
    /// When a file that exists cannot be read.
    pub fn look(root: &Root) -> Result<Filter, FileError> {
        if !root.is_live() {
            return Ok(Filter::default());
        }
        let status = root.read_opt(&KPath::from(STATUS))?;
        let mode = status
            .as_deref()
            .map(|text| keyed::number(text, b"Seccomp:"));
        // Before Linux 3.8, and where the kernel was built without, nothing is said.
        if mode.is_some_and(|mode| mode.unwrap_or(0) == 0) {
            return Ok(Filter::default());
        }
        let count = status.and_then(|text| keyed::number(&text, b"Seccomp_filters:"));
        let of_library = [Call::Mremap, Call::Madvise, Call::Mprotect];
        let own = [Call::Prctl, Call::Policy, Call::Truncate, Call::MemoryFile];
        let [mremap, madvise, mprotect] = tried(of_library);
        let [prctl, policy, truncate, memory_file] = tried(own);
        Ok(Filter {
            is_there: true,
            count: count.map_or(0, |count| u32::try_from(count).unwrap_or(u32::MAX)),
            is_told: mode.is_some(),
            mremap,
            madvise,
            mprotect,
            prctl,
            policy,
            truncate,
            memory_file,
        })
    }

    /// What the library is told.
    pub fn told(&self) -> env::Filter {
        let is_barred = |answer| answer != Answer::Allowed;
        env::Filter {
            count: self.count,
            barred: env::Barred {
                mremap: is_barred(self.mremap),
                madvise: is_barred(self.madvise),
                mprotect: is_barred(self.mprotect),
                memfd_create: self.bars_files(),
            },
        }
    }

    /// Whether no file of a pool can be made.
    pub fn bars_files(&self) -> bool {
        let all = [self.memory_file, self.truncate];
        all.into_iter().any(|answer| answer != Answer::Allowed)
    }

    /// Which of the calls by which hugectl waits for a program would end hugectl.
    pub fn bars_waiting(&self) -> Option<&'static str> {
        let all = [
            (self.prctl, "prctl"),
            (self.truncate, "ftruncate"),
            (self.memory_file, "memfd_create"),
        ];
        let mut ends = all
            .into_iter()
            .filter(|(answer, _)| *answer == Answer::Ends);
        ends.next().map(|(_, name)| name)
    }

    /// The line that says so.
    pub fn says(&self) -> &'static str {
        match self.is_told {
            true => "Seccomp: 2",
            false => "absent",
        }
    }
}
