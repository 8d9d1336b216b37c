//! Reasons why memory stays on base pages.

use std::fmt;

use hugetools_model::root::error::describe_errno;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reason {
    /// It lies outside whole huge pages of its mapping.
    Edge,
    /// Less than this percentage of the huge page is touched.
    Sparse(u8),
    /// A property of the mapping or of its pages.
    Obstacle(&'static str),
    /// A collapse would exceed this limit on memory.
    NoRoom(String),
    /// Pages are locked or pinned (EAGAIN).
    Busy,
    NoHugePage,
    /// The kernel refused with this error.
    Refused(i32),
    /// It was allocated or changed meanwhile.
    Changed,
}

impl Reason {
    /// Whether the result falls short of the request.
    pub(super) fn is_short(&self) -> bool {
        !matches!(self, Reason::Edge | Reason::Sparse(_) | Reason::Changed)
    }

    pub(super) fn is_refusal(&self) -> bool {
        matches!(self, Reason::Busy | Reason::NoHugePage | Reason::Refused(_))
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Reason::Edge => "outside whole huge pages of its mapping",
            Reason::Sparse(percent) => {
                return write!(
                    f,
                    "less than {percent}% of the huge page is touched (--touched)"
                );
            }
            Reason::Obstacle(why) => why,
            Reason::NoRoom(why) => why,
            Reason::Busy => "locked or pinned by the kernel or a device",
            Reason::NoHugePage => "the kernel could not allocate a huge page",
            Reason::Refused(libc::EINVAL) => {
                "the kernel cannot collapse this memory, such as unaligned shared memory and files on \
                 most file systems (EINVAL)"
            }
            Reason::Refused(errno) => return write!(f, "refused: {}", describe_errno(*errno)),
            Reason::Changed => "allocated or changed meanwhile",
        })
    }
}
