//! A running process: `/proc/<pid>`.
//!
//! [`cgroup`]: limits of its control groups; [`folio`]: the sizes of the folios that its
//! memory lies in; [`others`]: whether those of other users can be seen.
//!
//! **Invariants.** A process may end at any time, and its number be another's then: what
//! belongs together is read at once. What this user may not read is an error or `None`.

use std::path::PathBuf;

pub use hugetools_kernfs::auxv::Words;
pub use hugetools_kernfs::environ::variable;
pub use hugetools_kernfs::pagemap::Entry;
pub use hugetools_kernfs::stat::Stat;
use hugetools_kernfs::{auxv, keyed};

use crate::root::Root;
use crate::root::error::{FileError, Op};
use crate::root::kpath::KPath;

pub mod cgroup;
pub mod folio;
pub mod others;

/// The kernel's number of a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Pid(u32);

impl Pid {
    /// Process `n`; there is no process 0.
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

    /// The directory of the process, or a file in it.
    pub fn path(self, file: &'static str) -> KPath {
        KPath::from("/proc").join(self.0).join(file)
    }

    /// The file that is mapped at exactly these addresses, whatever has become
    /// of its name since.
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

/// The text of `/proc/<pid>/smaps`.
pub fn read_smaps(root: &Root, pid: Pid) -> Result<Vec<u8>, FileError> {
    root.read(&pid.path("smaps"))
}

/// The path of the executable, with the ` (deleted)` that the kernel adds
/// when its file is gone.
pub fn exe(root: &Root, pid: Pid) -> Result<PathBuf, FileError> {
    let path = pid.path("exe");
    std::fs::read_link(root.host_path(path.as_str()))
        .map_err(|error| FileError::io(Op::Read, &path, &error))
}

/// The name by which the process goes: that of the file that was started, be it
/// a link or a script, unless it has given itself another.
pub fn name(root: &Root, pid: Pid) -> Option<Vec<u8>> {
    let name = root.read(&pid.path("comm")).ok()?;
    let name = name.strip_suffix(b"\n").unwrap_or(&name);
    (!name.is_empty()).then(|| name.to_vec())
}

/// The number of the process that started it, or has it since that ended.
pub fn parent(root: &Root, pid: Pid) -> Option<u32> {
    Stat::parse(&root.read(&pid.path("stat")).ok()?)?.parent()
}

/// The environment that the process was started with, as `NAME=value` entries
/// that each end in a zero byte.
pub fn read_environ(root: &Root, pid: Pid) -> Result<Vec<u8>, FileError> {
    root.read(&pid.path("environ"))
}

/// Whether such an environment is as the process was given it: programs that
/// set their title, as Redis and PostgreSQL do, write over it.
pub fn is_whole(environ: &[u8]) -> bool {
    let environ = environ.strip_suffix(b"\0").unwrap_or(environ);
    let mut entries = environ.split(|byte| *byte == 0);
    environ.is_empty() || entries.all(|entry| entry.contains(&b'='))
}

/// `THP_enabled` of `/proc/<pid>/status`: whether the process may have
/// transparent huge pages at all (`PR_SET_THP_DISABLE`). `None` where the
/// kernel does not say, before Linux 5.0.
pub fn thp_enabled(root: &Root, pid: Pid) -> Result<Option<bool>, FileError> {
    let bytes = root.read(&pid.path("status"))?;
    let value = keyed::value(&bytes, b"THP_enabled:");
    Ok(value.map(|value| value != b"0"))
}

/// What the kernel told the program at its start (`/proc/<pid>/auxv`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Auxv {
    /// `AT_PHDR`: where the program headers of the executable are.
    pub phdr: Option<u64>,
    /// `AT_PAGESZ`: the size of a base page.
    pub page_size: Option<u64>,
}

/// Whether the process began with rights that are not its user's (`AT_SECURE`): the loader
/// of such a program takes no library from its environment. `None` where that is not told,
/// or may not be read.
pub fn is_secure(root: &Root, pid: Pid) -> Option<bool> {
    auxv::is_secure(&root.read(&pid.path("auxv")).ok()?)
}

impl Auxv {
    /// Parses the contents of the file.
    pub fn parse(bytes: &[u8], words: Words) -> Auxv {
        Auxv {
            phdr: auxv::value(bytes, words, auxv::PHDR),
            page_size: auxv::value(bytes, words, auxv::PAGE_SIZE),
        }
    }
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
    fn an_environment_that_was_written_over() {
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

    #[test]
    fn paths_are_the_kernel_s_own() {
        let path = SEVEN.map_file(0x5555_0000, 0x5556_0000);
        assert_eq!(path.as_str(), "/proc/7/map_files/55550000-55560000");
        assert_eq!(Pid::new(0), None);
    }
}
