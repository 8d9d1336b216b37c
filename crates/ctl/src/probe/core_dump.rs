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
    /// What is in force.
    ///
    /// # Errors
    /// When the file is there and cannot be read. A kernel without core dumps has none.
    pub fn read(root: &Root) -> Result<Option<CoreDump>, FileError> {
        let text = root.read_opt(&KPath::from(PATH))?;
        let bits = |text: Vec<u8>| {
            let text = std::str::from_utf8(&text).ok()?.trim();
            u32::from_str_radix(text, 16).ok()
        };
        Ok(text.and_then(bits).map(CoreDump))
    }

    /// Adds what keeps in a dump, on pages of a pool, the memory that is in it without;
    /// nothing where it is in it already, or no pool serves it.
    pub fn with_pools(self, served: Wants) -> Option<CoreDump> {
        let is_pool = |pages: Option<Pages>| !matches!(pages, None | Some(Pages::Thp));
        let private = [served.heap, served.text, served.data];
        let wanted = [
            (private.into_iter().any(is_pool), PRIVATE, PRIVATE_POOL),
            (is_pool(served.shm), SHARED, SHARED_POOL),
        ];
        let more = wanted
            .into_iter()
            .filter(|(is_served, kind, _)| *is_served && self.0 & kind != 0)
            .fold(self.0, |bits, (_, _, on_pool)| bits | on_pool);
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

impl std::fmt::Display for CoreDump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_dumped_is_dumped_on_a_pool() {
        let shm = |pages| Wants {
            shm: Some(pages),
            ..Wants::default()
        };
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
        assert_eq!(CoreDump::read(&root).unwrap(), None);
        let file = dir.path().join("proc/self/coredump_filter");
        std::fs::write(&file, "00000033\n").unwrap();
        let filter = CoreDump::read(&root).unwrap().unwrap();
        assert_eq!(filter, CoreDump(0x33));
        filter.set(&root).unwrap();
        assert_eq!(std::fs::read_to_string(file).unwrap(), "0x33\n");
        assert_eq!(filter.to_shell(), "echo 0x33 >/proc/self/coredump_filter\n");
    }
}
