//! The environment variables that hugectl and the libraries agree on. The classic names
//! and values are unchanged; additions are marked "new".
//!
//! [`Settings`] has the table of the variables.

#[macro_use]
mod row;

mod elfmap;
mod filter;
mod limit;
mod messages;
mod read;
mod require;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod value;

pub use self::elfmap::Elfmap;
pub use self::filter::{Filter, RefusedCalls};
pub use self::limit::Limit;
pub use self::messages::{InheritedFd, Messages};
pub use self::read::{PATH_MAX, verbosity};
pub use self::require::{Require, RequireError, Required, Share};
pub use self::source::{Source, is_among};
pub use self::table::*;
pub use self::value::Pages;
use crate::ledger::Place;

/// The verbosity if no variable sets it: errors and warnings.
pub const DEFAULT_VERBOSITY: u8 = 2;

/// The library for segments and shared memory.
pub const LIBRARY: &str = "libhugetlbfs.so";
/// The soname, as in `DT_NEEDED` of programs that are linked with it.
pub const VERSIONED: &str = "libhugetlbfs.so.0";
/// The library that also replaces malloc.
pub const HEAP_LIBRARY: &str = "libhugetlbfs_heap.so";

/// An exported symbol that only our libraries define. It distinguishes them from other
/// libraries of the same name.
pub const MARKER: &str = "__hugetools_library";

/// The fallback when no pool page is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// Transparent huge pages, then base pages.
    #[default]
    Thp,
    /// Base pages.
    Base,
    /// No fallback: the request fails.
    None,
}

impl Fallback {
    /// Returns its word in the variable and on the command line.
    pub const fn word(self) -> &'static str {
        match self {
            Fallback::Thp => "thp",
            Fallback::Base => "base",
            Fallback::None => "none",
        }
    }
}

/// The process that hugectl has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Starter {
    /// Its process ID.
    pub pid: u32,
    /// Its entry in the ledger of messages, if there is a ledger.
    pub ledger: Option<Place>,
}

/// Where a report goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Report<'a> {
    /// To standard error, from this process only.
    Terminal {
        /// The process that hugectl started.
        pid: u32,
        /// As JSON instead of a table.
        json: bool,
    },
    /// Appended to a file as a JSON line, by every process.
    File(&'a [u8]),
}

/// The process that may copy text without sharing the copy. A private copy takes memory in each
/// process, so only the program that hugectl itself starts may make one: not its children, nor a
/// program behind a wrapper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextCopy<'a> {
    /// The process that hugectl becomes.
    pub pid: u32,
    /// Its executable.
    pub program: &'a [u8],
}

/// The report page of a program that hugectl waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watcher {
    /// The process ID of the program.
    pub program: u32,
    /// The process ID of hugectl.
    pub pid: u32,
    /// The descriptor of the page in hugectl.
    pub fd: u32,
}

impl<'a> Settings<'a> {
    /// Reads the variables through `get`. `program` is the base name of `argv[0]`, `pid`
    /// the process ID.
    pub fn read(get: impl Fn(&str) -> Option<&'a [u8]>, program: &[u8], pid: u32) -> Settings<'a> {
        Settings::of(Source::new(&get, Some, program, pid))
    }
}

/// The default page size of the C interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DefaultSize {
    /// The kernel's default huge page size.
    #[default]
    Kernel,
    /// A size in bytes. If the machine has no such pages, the kernel's default.
    Size(u64),
    /// The value is invalid: there is no default size.
    None,
}

/// The variables whose values were rejected, as a whole or in part: one bit for each of
/// [`VARIABLES`]. A rejected variable counts as unset, or its valid part is used; but an invalid
/// `HUGETLB_ELFMAP` is `no`, and an invalid `HUGETLB_DEFAULT_PAGE_SIZE` [`DefaultSize::None`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rejected(u64);

const _: () = assert!(VARIABLES.len() <= 64);

impl Rejected {
    const NONE: Rejected = Rejected(0);

    fn add(&mut self, name: &str) {
        if let Some(place) = VARIABLES.iter().position(|known| *known == name) {
            self.0 |= 1 << place;
        }
    }

    /// Returns the names of the rejected variables.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        let places = VARIABLES.iter().enumerate();
        places.filter_map(move |(place, name)| (self.0 >> place & 1 == 1).then_some(*name))
    }
}
