//! Processes: `/proc/PID/stat` and `comm`.

use hugetools_kernfs::stat::Stat;

use crate::kernel::procfile;
use crate::rt::path::Path;
use crate::sys;

/// A process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    /// Parent's process ID.
    pub parent: u32,
    /// Start time in ticks since boot.
    pub start: u64,
}

impl Process {
    /// Reads a process; `None` if it doesn't exist or isn't visible.
    pub fn of(pid: u32) -> Option<Process> {
        let path = Path::of(format_args!("/proc/{pid}/stat"))?;
        let mut buffer = [0; 1024];
        parse(procfile::head(path.c_str(), &mut buffer))
    }

    /// Reads this process and its name.
    pub fn own_and_name(buffer: &mut [u8; 1024]) -> Option<(Process, &[u8])> {
        let text = procfile::head(c"/proc/self/stat", buffer);
        Some((parse(text)?, Stat::parse(text)?.name()))
    }
}

fn parse(text: &[u8]) -> Option<Process> {
    let stat = Stat::parse(text)?;
    Some(Process {
        parent: stat.parent()?,
        start: stat.start()?,
    })
}

/// Buffer size for a name.
pub const NAME: usize = 64;

/// The process's name: that of its file or script, unless it has set another.
pub fn name(pid: u32, buffer: &mut [u8; NAME]) -> Option<&[u8]> {
    let path = Path::of(format_args!("/proc/{pid}/comm"))?;
    let name = procfile::head(path.c_str(), buffer);
    let name = name.strip_suffix(b"\n").unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

/// Maximum number of ancestors to check.
const GENERATIONS: usize = 16;

/// Whether a process is a live ancestor of this one.
pub fn is_ancestor(pid: u32) -> bool {
    let mut at = Process::of(sys::getpid());
    for _ in 0..GENERATIONS {
        match at {
            None | Some(Process { parent: 0, .. }) => return false,
            Some(process) if process.parent == pid => return true,
            Some(process) => at = Process::of(process.parent),
        }
    }
    false
}
