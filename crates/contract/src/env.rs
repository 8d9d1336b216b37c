//! The environment protocol. The classic names and values stay as they were;
//! what is new is marked so.
//!
//! [`Settings`] has the table of the variables.

#[macro_use]
mod row;

mod api;
mod elfmap;
mod filter;
mod limit;
mod messages;
mod odd;
mod read;
mod require;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod text_copy;
mod value;

pub use self::api::{DefaultSize, Features};
pub use self::elfmap::Elfmap;
pub use self::filter::{Barred, Filter};
pub use self::limit::Limit;
pub use self::messages::{Handed, Messages};
pub use self::odd::Odd;
pub use self::read::{PATH_MAX, verbosity};
pub use self::require::{Require, Required, Share, Wrong};
pub use self::source::{Source, is_among};
pub use self::table::*;
pub use self::text_copy::TextCopy;
pub use self::value::Pages;
use crate::said::Place;

/// The verbosity without any variable: errors and warnings.
pub const DEFAULT_VERBOSITY: u8 = 2;

/// The library for segments and shared memory.
pub const LIBRARY: &str = "libhugetlbfs.so";
/// The name by which programs that are linked with it find it at run time.
pub const VERSIONED: &str = "libhugetlbfs.so.0";
/// The library with a heap of its own besides.
pub const HEAP_LIBRARY: &str = "libhugetlbfs_heap.so";

/// The exported symbol by which our libraries are known among others of the
/// same name.
pub const MARKER: &str = "__hugetools_library";

/// What follows when huge pages run out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fallback {
    /// Transparent huge pages, then base pages.
    #[default]
    Thp,
    /// Base pages.
    Base,
    /// Nothing: the request fails.
    None,
}

impl Fallback {
    /// The word for it, in the variable and on the command line.
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
    /// Its number.
    pub pid: u32,
    /// Where it is kept what its start has said, as far as that is kept.
    pub said: Option<Place>,
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

/// The page for the report of a program that hugectl waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Watcher {
    /// The program.
    pub program: u32,
    /// hugectl.
    pub pid: u32,
    /// The descriptor of the page, in hugectl.
    pub fd: u32,
}

impl Default for Settings<'_> {
    fn default() -> Self {
        Settings::NOTHING
    }
}

impl<'a> Settings<'a> {
    /// Reads the variables through `get`. `program` is what follows the last
    /// `/` of the program's first argument, `pid` its process.
    pub fn read(get: impl Fn(&str) -> Option<&'a [u8]>, program: &[u8], pid: u32) -> Settings<'a> {
        Settings::of(Settings::source(&get, program, pid))
    }
}
