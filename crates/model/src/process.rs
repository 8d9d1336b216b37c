//! A running process: `/proc/<pid>`.
//!
//! [`cgroup`]: limits of its control groups; [`folio`]: its folio sizes; [`hidepid`]:
//! whether other users' processes are visible.
//!
//! **Invariants.** A process may end at any time, and its PID may be reused: related values
//! are read in one go. A value that this user may not read is an error or `None`.

use std::path::PathBuf;

pub use hugetools_kernfs::auxv;
pub use hugetools_kernfs::environ::variable;
use hugetools_kernfs::keyed;
pub use hugetools_kernfs::pagemap::Entry;
pub use hugetools_kernfs::stat::Stat;

use crate::root::Root;
use crate::root::error::{FileError, Op};
use crate::root::kpath::KPath;

pub mod cgroup;
pub mod folio;
pub mod hidepid;

/// A process ID.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(u32);

impl Pid {
    /// Returns process `n`; `None` for 0.
    pub const fn new(n: u32) -> Option<Pid> {
        match n {
            0 => None,
            n => Some(Pid(n)),
        }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }

    /// Returns the path of a file of the process.
    pub fn path(self, file: &'static str) -> KPath {
        KPath::from("/proc").join(self.0).join(file)
    }

    /// Returns the link to the file mapped at exactly these addresses. It works even for a
    /// renamed or deleted file.
    pub fn map_file(self, start: u64, end: u64) -> KPath {
        self.path("map_files")
            .join(format_args!("{start:x}-{end:x}"))
    }
}

impl std::fmt::Display for Pid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Reads `/proc/<pid>/smaps`.
pub fn read_smaps(root: &Root, pid: Pid) -> Result<Vec<u8>, FileError> {
    root.read(&pid.path("smaps"))
}

/// Returns the path of the executable, with the kernel's ` (deleted)` if it was unlinked.
pub fn exe(root: &Root, pid: Pid) -> Result<PathBuf, FileError> {
    let path = pid.path("exe");
    std::fs::read_link(root.host_path(path.as_str()))
        .map_err(|error| FileError::io(Op::Read, &path, &error))
}

/// Returns the process's name (`comm`, at most 15 bytes): the file name of the started program,
/// link or script, unless the process changed it.
pub fn name(root: &Root, pid: Pid) -> Option<Vec<u8>> {
    let name = root.read(&pid.path("comm")).ok()?;
    let name = name.strip_suffix(b"\n").unwrap_or(&name);
    (!name.is_empty()).then(|| name.to_vec())
}

/// Returns the parent, or the process that adopted this one.
pub fn parent(root: &Root, pid: Pid) -> Option<u32> {
    Stat::parse(&root.read(&pid.path("stat")).ok()?)?.parent()
}

/// Reads the initial environment: `NAME=value` entries, each terminated by NUL.
pub fn read_environ(root: &Root, pid: Pid) -> Result<Vec<u8>, FileError> {
    root.read(&pid.path("environ"))
}

/// Whether an environment is intact. Programs that set their title, such as Redis and
/// PostgreSQL, overwrite it.
pub fn is_whole(environ: &[u8]) -> bool {
    let environ = environ.strip_suffix(b"\0").unwrap_or(environ);
    let mut entries = environ.split(|byte| *byte == 0);
    environ.is_empty() || entries.all(|entry| entry.contains(&b'='))
}

/// Returns `THP_enabled`: false without THP or after `PR_SET_THP_DISABLE`; `None` before Linux 5.0.
pub fn thp_enabled(root: &Root, pid: Pid) -> Result<Option<bool>, FileError> {
    let bytes = root.read(&pid.path("status"))?;
    let value = keyed::value(&bytes, b"THP_enabled:");
    Ok(value.map(|value| value != b"0"))
}

/// Whether exec raised the process's privileges (`AT_SECURE`). Its loader then ignores
/// `LD_PRELOAD`. `None` if unknown or unreadable.
pub fn is_secure(root: &Root, pid: Pid) -> Option<bool> {
    auxv::is_secure(&root.read(&pid.path("auxv")).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(file: &str, contents: &[u8]) -> (tempfile::TempDir, Root) {
        use std::io::Write;
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/7")).unwrap();
        let path = dir.path().join("proc/7").join(file);
        std::fs::File::create(path)
            .unwrap()
            .write_all(contents)
            .unwrap();
        let root = Root::at(dir.path()).unwrap();
        (dir, root)
    }

    const SEVEN: Pid = Pid(7);

    #[test]
    fn an_overwritten_environment() {
        for whole in [&b""[..], b"A=x\0", b"A=x\0B=\0"] {
            assert!(is_whole(whole), "{whole:?}");
        }
        for over in [&b"\0\0\0\0"[..], b"server: idle\0\0\0", b"A=x\0\0\0"] {
            assert!(!is_whole(over), "{over:?}");
        }
    }

    #[test]
    fn a_process_without_transparent_huge_pages() {
        let (_dir, root) = tree("status", b"Name:\tx\nTHP_enabled:\t0\nThreads:\t1\n");
        assert_eq!(thp_enabled(&root, SEVEN), Ok(Some(false)));
        let (_dir, root) = tree("status", b"Name:\tTHP_enabled: 0\n");
        assert_eq!(thp_enabled(&root, SEVEN), Ok(None));
    }
}
