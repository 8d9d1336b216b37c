//! A running process: `/proc/<pid>`.

use crate::error::{FileError, Op};
use crate::root::{KPath, Root};

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

/// The path of the executable, without the ` (deleted)` that the kernel adds
/// when its file is gone.
pub fn exe(root: &Root, pid: Pid) -> Result<std::path::PathBuf, FileError> {
    let path = pid.path("exe");
    std::fs::read_link(root.host_path(path.as_str()))
        .map_err(|error| FileError::io(Op::Read, &path, &error))
}
