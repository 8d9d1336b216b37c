//! Which kinds of memory a core dump of this process has, and so of the program:
//! `/proc/self/coredump_filter`, core(5). Kernels know pages of a pool as kinds of
//! their own, whatever is on them, and leave shared ones out unless told.

use hugetools_contract::env::Pages;
use hugetools_model::{FileError, KPath, Root};

use crate::probe::kernel::Wants;

/// The file.
const PATH: &str = "/proc/self/coredump_filter";

/// Private memory of no file.
const PRIVATE: u32 = 1 << 0;
/// Shared memory of no file that has a name.
const SHARED: u32 = 1 << 1;
/// What is private on pages of a pool.
const PRIVATE_POOL: u32 = 1 << 5;
/// What is shared on them.
const SHARED_POOL: u32 = 1 << 6;

/// The kinds of memory that are dumped, a bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CoreDump(u32);

impl CoreDump {
    /// What is in force, where a pool serves some kind. `None` too where it cannot be told,
    /// as in a kernel without core dumps: then it stays as it is.
    pub fn read(root: &Root, served: Wants) -> Option<CoreDump> {
        kinds(served).next()?;
        let text = root.read_opt(&KPath::from(PATH)).ok()??;
        let text = std::str::from_utf8(&text).ok()?.trim();
        u32::from_str_radix(text, 16).ok().map(CoreDump)
    }

    /// Adds what keeps in a dump, on pages of a pool, the memory that is in it without;
    /// nothing where it is in it already, or no pool serves it.
    pub fn with_pools(self, served: Wants) -> Option<CoreDump> {
        let more = kinds(served)
            .filter(|(kind, _)| self.0 & kind != 0)
            .fold(self.0, |bits, (_, on_pool)| bits | on_pool);
        (more != self.0).then_some(CoreDump(more))
    }

    /// Has the kernel dump these kinds, of this process and of what it becomes.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn set(self, root: &Root) -> Result<(), FileError> {
        root.write(&KPath::from(PATH), &self.to_string())
    }

    /// The command that does it.
    pub fn to_shell(self) -> String {
        format!("echo {self} >{PATH}\n")
    }
}

/// The kinds of memory that a pool serves, without it and with it.
fn kinds(served: Wants) -> impl Iterator<Item = (u32, u32)> {
    let is_pool = |pages: Option<Pages>| !matches!(pages, None | Some(Pages::Thp));
    let private = [served.heap, served.text, served.data];
    let all = [
        (private.into_iter().any(is_pool), PRIVATE, PRIVATE_POOL),
        (is_pool(served.shm), SHARED, SHARED_POOL),
    ];
    all.into_iter()
        .filter_map(|(is_served, kind, on_pool)| is_served.then_some((kind, on_pool)))
}

impl std::fmt::Display for CoreDump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shm(pages: Pages) -> Wants {
        Wants {
            shm: Some(pages),
            ..Wants::default()
        }
    }

    #[test]
    fn what_was_dumped_is_dumped_on_a_pool() {
        let heap = Wants {
            heap: Some(Pages::Default),
            ..Wants::default()
        };
        let on_pool = shm(Pages::Default);
        assert_eq!(CoreDump(0x33).with_pools(on_pool), Some(CoreDump(0x73)));
        // It is in it already; it never was; it is on no pool.
        assert_eq!(CoreDump(0x73).with_pools(on_pool), None);
        assert_eq!(CoreDump(0x31).with_pools(on_pool), None);
        assert_eq!(CoreDump(0x33).with_pools(shm(Pages::Thp)), None);
        assert_eq!(CoreDump(0x33).with_pools(heap), None);
        assert_eq!(CoreDump(0x11).with_pools(heap), Some(CoreDump(0x31)));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "makes a tree of its own")]
    fn the_file_is_read_and_written() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/self")).unwrap();
        let root = Root::at(dir.path()).unwrap();
        let read = |pages| CoreDump::read(&root, shm(pages));
        assert_eq!(read(Pages::Default), None);
        let file = dir.path().join("proc/self/coredump_filter");
        std::fs::create_dir(&file).unwrap();
        assert_eq!(read(Pages::Default), None);
        std::fs::remove_dir(&file).unwrap();
        std::fs::write(&file, "00000033\n").unwrap();
        assert_eq!(read(Pages::Thp), None);
        let filter = read(Pages::Default).unwrap();
        assert_eq!(filter, CoreDump(0x33));
        filter.set(&root).unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), "0x33\n");
        assert_eq!(filter.to_shell(), "echo 0x33 >/proc/self/coredump_filter\n");
    }
}
