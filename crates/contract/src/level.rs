//! How much a message matters: the numbers are those of `--verbose` and of
//! `HUGETLB_VERBOSE`, for the tools and for the libraries.

/// How much a message matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// What was asked cannot be done.
    Error = 1,
    /// Less than asked is done.
    Warning = 2,
    /// What was found, decided or done.
    Info = 3,
    /// How, for whoever looks for a fault.
    Debug = 4,
}

impl Level {
    /// Whether a verbosity of 0 to 99 shows it.
    pub const fn is_shown(self, verbosity: u8) -> bool {
        self as u8 <= verbosity
    }

    /// Its name in a message.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Error => "ERROR",
            Level::Warning => "WARNING",
            Level::Info => "INFO",
            Level::Debug => "DEBUG",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_the_numbers_of_the_verbosity() {
        assert!(Level::Warning.is_shown(2) && !Level::Warning.is_shown(1));
        assert!(!Level::Error.is_shown(0) && Level::Debug.is_shown(99));
    }
}
