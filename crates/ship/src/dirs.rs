//! The directories that differ between installations and packages.

use std::path::{Path, PathBuf};

/// The directories of an installation or package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// The prefix of all files.
    pub prefix: PathBuf,
    /// The library directory below the prefix: `lib`, `lib64`,
    /// `lib/x86_64-linux-gnu`.
    pub libdir: PathBuf,
    /// The directory of zsh completions below the prefix.
    pub zsh: &'static str,
    /// Whether the loader searches the library directory by default.
    pub is_searched: bool,
}

impl Dirs {
    /// The directories of an installation without packages.
    pub fn of_prefix(prefix: &Path, libdir: &Path, is_searched: bool) -> Dirs {
        Dirs {
            prefix: prefix.to_owned(),
            libdir: libdir.to_owned(),
            zsh: "share/zsh/site-functions",
            is_searched,
        }
    }

    /// The absolute library directory.
    pub fn lib(&self) -> PathBuf {
        self.prefix.join(&self.libdir)
    }
}
