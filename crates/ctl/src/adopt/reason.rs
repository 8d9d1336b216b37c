//! Why memory stays on base pages.

use std::fmt;

use hugetools_model::root::error::describe_errno;

/// Why memory stays on base pages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// It lies in no whole huge page of its mapping.
    Edge,
    /// The process has switched them off by `prctl(2)`.
    SwitchedOff,
    /// `MADV_NOHUGEPAGE`
    Declined,
    /// Memory of a device.
    Device,
    /// `userfaultfd(2)` watches what is missing there.
    Watched,
    /// `ksmd` has merged it with other memory.
    Merged,
    /// Shared memory, for which `shmem_enabled` says this word.
    Shared(String),
    /// The private copy of a file's pages.
    FileCopy,
    /// The page cache, in use by others, too.
    OthersMap,
    /// The page cache of a file.
    File,
    /// Shared since a fork: it would be copied.
    Forked,
    /// A part of it is on swap.
    Swapped,
    /// Less than this percentage of the huge page is touched.
    Sparse(u8),
    /// The memory control group of this file has no room for what was not touched.
    Group(String),
    /// The machine has no room for what was not touched.
    Machine,
    /// How much room there is cannot be told: this cannot be read.
    Untold(String),
    /// In use by a device or the kernel, such as locked or pinned pages.
    Busy,
    /// There was no huge page to be had.
    NoHugePage,
    /// The kernel would have to move too much memory.
    Stalled,
    /// The kernel refused with this number.
    Refused(i32),
    /// Came, or was changed, meanwhile.
    Later,
}

impl Reason {
    /// Whether less than what was asked for is huge for this reason: not where the
    /// memory has no place for a huge page or too little of one is touched, nor where it was
    /// not there in time.
    pub(super) fn is_short(&self) -> bool {
        !matches!(self, Reason::Edge | Reason::Sparse(_) | Reason::Later)
    }

    /// Whether the kernel was asked, or would be, and has refused.
    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Reason::Busy | Reason::NoHugePage | Reason::Refused(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Edge => "no whole huge page lies there",
            Reason::SwitchedOff => {
                "the process has switched transparent huge pages off (PR_SET_THP_DISABLE)"
            }
            Reason::Declined => {
                "the program wants none there (MADV_NOHUGEPAGE), as for threads' stacks since Linux 6.7"
            }
            Reason::Device => "memory of a device",
            Reason::Watched => "userfaultfd watches it",
            Reason::Merged => "merged with equal pages (KSM)",
            Reason::Shared(word) => {
                return write!(
                    f,
                    "transparent huge pages for shared memory are set to {word} (shmem_enabled)"
                );
            }
            Reason::FileCopy => {
                "the private copy of a file's pages: these take a start with hugectl --data"
            }
            Reason::OthersMap => "pages of a file that other processes map, too",
            Reason::File => "pages of a file: these take a start with hugectl --text",
            Reason::Forked => "shared with another process since a fork: it would be copied",
            Reason::Swapped => "a part of it is on swap",
            Reason::Sparse(percent) => {
                return write!(f, "less than {percent}% of the huge page is touched (--touched)");
            }
            Reason::Group(file) => return write!(f, "{file} leaves no room for more memory"),
            Reason::Machine => "the machine has too little memory available",
            Reason::Untold(file) => {
                return write!(f, "how much memory may be added cannot be told: {file} cannot be read");
            }
            Reason::Busy => "locked or pinned by the kernel or a device",
            Reason::NoHugePage => "the kernel had no huge page for it",
            Reason::Stalled => "the kernel would have had to move too much memory for it",
            Reason::Refused(errno) => return write!(f, "refused: {}", describe_errno(*errno)),
            Reason::Later => "came or was changed meanwhile",
        })
    }
}
