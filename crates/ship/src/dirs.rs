//! The directories in which installations and packages differ.

use std::path::{Path, PathBuf};

/// The directories that differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dirs {
    /// What everything lies below.
    pub prefix: PathBuf,
    /// The directory of libraries, below the prefix: `lib`, `lib64`,
    /// `lib/x86_64-linux-gnu`.
    pub libdir: PathBuf,
    /// Where zsh finds completions, below the prefix.
    pub zsh: &'static str,
    /// Whether the loader finds libraries there without being told.
    pub is_searched: bool,
}

impl Dirs {
    /// Those of an installation without packages.
    pub fn of_prefix(prefix: &Path, libdir: &Path, is_searched: bool) -> Dirs {
        Dirs {
            prefix: prefix.to_owned(),
            libdir: libdir.to_owned(),
            zsh: "share/zsh/site-functions",
            is_searched,
        }
    }

    /// The directory of libraries, from the root.
    pub fn lib(&self) -> PathBuf {
        self.prefix.join(&self.libdir)
    }
}
