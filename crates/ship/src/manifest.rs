//! The list of installed files, for uninstalling.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::stage::below;

/// Installed files and directories, as absolute paths.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Manifest {
    /// Files and links.
    pub files: Vec<PathBuf>,
    /// Directories that the installation created, outer ones first.
    pub dirs: Vec<PathBuf>,
}

impl Manifest {
    /// Returns the path of a prefix's manifest.
    pub fn path(prefix: &Path) -> PathBuf {
        prefix.join("share/hugetools/installed")
    }

    /// Reads the manifest of a prefix; empty if there is none.
    pub fn read(root: &Path, prefix: &Path) -> Result<Manifest, Failure> {
        let path = below(root, &Manifest::path(prefix));
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Manifest::parse(&text)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Manifest::default()),
            Err(error) => Err(Failure::of(&path, error)),
        }
    }

    /// Parses the file. A directory's line ends in a slash.
    fn parse(text: &str) -> Manifest {
        let (dirs, files): (Vec<&str>, Vec<&str>) =
            text.lines().partition(|line| line.ends_with('/'));
        let paths = |lines: Vec<&str>| lines.into_iter().map(PathBuf::from).collect();
        Manifest {
            files: paths(files),
            dirs: paths(dirs),
        }
    }

    /// Formats the manifest for its file.
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

    /// Removes the files, then the empty directories. Returns the last failure.
    pub fn remove(&self, root: &Path) -> Result<(), Failure> {
        let mut result = Ok(());
        for path in self.files.iter().map(|path| below(root, path)) {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    result = Err(Failure::of(&path, error));
                }
                _ => {}
            }
        }
        // Inner directories first. Directories with other files stay.
        for path in self.dirs.iter().rev() {
            let _ = fs::remove_dir(below(root, path));
        }
        result
    }
}
