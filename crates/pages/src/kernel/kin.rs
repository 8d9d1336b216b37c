//! Which process is whose: what `/proc/<pid>/stat` says.

use hugetools_kernfs::stat::Stat;

use crate::kernel::procfile;
use crate::rt::path::Path;
use crate::sys;

/// A process among others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kin {
    /// Its number.
    pub pid: u32,
    /// Who started it, or has it since that one ended.
    pub parent: u32,
    /// Whether it runs no more, and only waits to be taken note of.
    pub is_over: bool,
    /// When it was started, in ticks since the boot.
    pub start: u64,
}

impl Kin {
    /// What there is to know of a process; `None` where there is none, or it
    /// may not be seen.
    pub fn of(pid: u32) -> Option<Kin> {
        let path = Path::of(format_args!("/proc/{pid}/stat"))?;
        let mut buffer = [0; 1024];
        parse(pid, procfile::head(path.c_str(), &mut buffer))
    }

    /// This process, and its name.
    pub fn own_and_name(buffer: &mut [u8; 1024]) -> Option<(Kin, &[u8])> {
        let text = procfile::head(c"/proc/self/stat", buffer);
        Some((parse(sys::getpid(), text)?, Stat::parse(text)?.name()))
    }

    /// This process.
    pub fn own() -> Option<Kin> {
        Kin::of(sys::getpid())
    }
}

fn parse(pid: u32, text: &[u8]) -> Option<Kin> {
    let stat = Stat::parse(text)?;
    Some(Kin {
        pid,
        parent: stat.parent()?,
        is_over: stat.is_over()?,
        start: stat.start()?,
    })
}

/// Room for a name.
pub const NAME: usize = 64;

/// The name by which a process goes: that of the file that was started, be it a
/// link or a script, unless it has given itself another.
pub fn name(pid: u32, buffer: &mut [u8; NAME]) -> Option<&[u8]> {
    let path = Path::of(format_args!("/proc/{pid}/comm"))?;
    let name = procfile::head(path.c_str(), buffer);
    let name = name.strip_suffix(b"\n").unwrap_or(name);
    (!name.is_empty()).then_some(name)
}

/// How many generations are looked at.
const GENERATIONS: usize = 16;

/// Whether a process has started this one, or the one that did, and so on, and
/// all of them still run.
pub fn is_ancestor(pid: u32) -> bool {
    let mut at = Kin::own();
    for _ in 0..GENERATIONS {
        match at {
            None | Some(Kin { parent: 0, .. }) => return false,
            Some(kin) if kin.parent == pid => return true,
            Some(kin) => at = Kin::of(kin.parent),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_goes_by_a_name() {
        let init = name(1, &mut [0; NAME]).map(<[u8]>::to_vec);
        assert!(init.is_some_and(|name| !name.contains(&b'\n')));
        assert_eq!(name(u32::MAX, &mut [0; NAME]), None);
    }

    #[test]
    fn this_process_has_a_parent_and_is_not_its_own() {
        let own = Kin::own().unwrap();
        assert!(is_ancestor(own.parent) && !is_ancestor(own.pid));
        assert!(Kin::of(own.parent).unwrap().start <= own.start && !own.is_over);
    }
}
