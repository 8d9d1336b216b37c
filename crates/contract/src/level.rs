//! The severity of messages, for the tools and the libraries. The numbers are those of
//! `--verbose` and `HUGETLB_VERBOSE`.

/// The severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The request failed.
    Error = 1,
    /// The request was met only in part.
    Warning = 2,
    /// A finding, a decision or a change.
    Info = 3,
    /// Details for troubleshooting.
    Debug = 4,
}

impl Level {
    /// Whether a verbosity of 0 to 99 shows this level.
    pub const fn is_shown(self, verbosity: u8) -> bool {
        self as u8 <= verbosity
    }

    /// Returns its name in a message.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Error => "error",
            Level::Warning => "warning",
            Level::Info => "info",
            Level::Debug => "debug",
        }
    }
}
