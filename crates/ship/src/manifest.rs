//! The list of what an installation put where, by which it is taken away again.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::stage::below;

/// What was installed. Paths are from the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Files and links.
    pub files: Vec<PathBuf>,
    /// Directories that were not there before, the outer ones first.
    pub dirs: Vec<PathBuf>,
}

impl Manifest {
    /// Where the list of a prefix lies, from the root.
    pub fn path(prefix: &Path) -> PathBuf {
        prefix.join("share/hugetools/installed")
    }

    /// Reads the list of a prefix; empty where there is none.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn read(root: &Path, prefix: &Path) -> Result<Manifest, Failure> {
        let path = below(root, &Manifest::path(prefix));
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Manifest::parse(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Manifest::default()),
            Err(error) => Err(Failure::of(&path, error)),
        }
    }

    /// A directory's line ends in a slash.
    fn parse(text: &str) -> Manifest {
        let (dirs, files): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.ends_with('/'));
        let paths = |lines: Vec<&str>| lines.into_iter().map(PathBuf::from).collect();
        Manifest {
            files: paths(files),
            dirs: paths(dirs),
        }
    }

    /// As it is written.
    pub fn to_text(&self) -> String {
        let files = self
            .files
            .iter()
            .map(|path| format!("{}\n", path.display()));
        let dirs = self.dirs.iter();
        let dirs =
            dirs.map(|path| format!("{}/\n", path.display().to_string().trim_end_matches('/')));
        files.chain(dirs).collect()
    }

    /// Removes files, then directories that have become empty; what could not be
    /// removed, and why.
    pub fn remove(&self, root: &Path) -> Vec<Failure> {
        let mut failures = Vec::new();
        for path in self.files.iter().map(|path| below(root, path)) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    failures.push(Failure::of(&path, error));
                }
                _ => {}
            }
        }
        // Inner ones first; what somebody else uses stays.
        for path in self.dirs.iter().rev() {
            let _ = fs::remove_dir(below(root, path));
        }
        failures
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let manifest = Manifest {
            files: vec!["/p/bin/x y".into(), "/p/lib/z".into()],
            dirs: vec!["/p".into(), "/p/bin".into()],
        };
        assert_eq!(Manifest::parse(&manifest.to_text()), manifest);
    }
}
