//! The steps of plans.
//!
//! **Invariants.** A step uses the kernel's paths, and contains everything needed to execute it.

use std::path::PathBuf;
use std::time::Duration;

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::{Bytes, KPath, PageSize, Root};

/// The directory of permanent swap files.
pub const SWAP_DIR: &str = "/var/lib/hugetlbfs/swap";

/// The temporary swap file. One is enough, because only one hugeadm runs at a time.
pub const TEMP_SWAP: &str = "/var/lib/hugetlbfs/swap/temp/swapfile";

/// Returns the path of a permanent swap file.
pub(crate) fn swap_file(number: u64) -> PathBuf {
    PathBuf::from(format!("{SWAP_DIR}/swapfile-{number}"))
}

/// A step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Writes a number to a kernel file.
    Write(Write),
    /// Selects a word in a kernel file that offers several.
    SelectWord(SelectWord),
    /// Makes a directory unless it exists.
    MakeDir(MakeDir),
    /// Removes a directory if it exists and is empty.
    RemoveDir(PathBuf),
    /// Mounts a hugetlbfs.
    Mount(Mount),
    /// Sets owner and mode of a mounted hugetlbfs, a directory or a device, unless they are right.
    SetOwner(SetOwner),
    /// Unmounts the topmost mount of a directory.
    Unmount(PathBuf),
    /// Creates and enables swap.
    SwapOn(Swap),
    /// Disables swap and removes its file.
    SwapOff(Swap),
    /// Writes a file or a link of `--install-boot`.
    Install(Install),
    /// Removes a file or a link if it exists.
    RemoveFile(PathBuf),
    /// Runs this command if an earlier step of the task changed anything.
    Run(&'static [&'static str]),
    /// A step that this machine cannot do.
    Impossible(Impossible),
}

impl Step {
    /// Whether the step is skipped because it needs a kernel, which a recorded tree lacks.
    pub(crate) fn is_skipped_on(&self, root: &Root) -> bool {
        let needs_kernel = matches!(
            self,
            Step::Mount(_)
                | Step::Unmount(_)
                | Step::SetOwner(_)
                | Step::SwapOn(_)
                | Step::SwapOff(_)
                | Step::Run(_)
        );
        needs_kernel && !root.has_kernel()
    }

    /// Returns a step that writes a number other than a number of pages.
    pub(crate) fn write(path: KPath, value: Value) -> Step {
        Step::Write(Write {
            path,
            value,
            kind: NumberKind::Setting,
        })
    }

    /// Returns a step that cannot be done, with the reason and advice.
    pub(crate) fn impossible(
        subject: impl Into<String>,
        why: impl Into<String>,
        hint: impl Into<String>,
    ) -> Step {
        Step::Impossible(Impossible {
            subject: subject.into(),
            why: why.into(),
            hint: hint.into(),
        })
    }
}

/// A number for a kernel file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub path: KPath,
    /// The value to write.
    pub value: Value,
    /// The meaning of the number.
    pub kind: NumberKind,
}

/// Returns the file of the surplus pages that a read of `path` includes, if any. A live kernel
/// takes persistent pages in `nr_hugepages` and `nr_hugepages_mempolicy` below `/sys`, but returns
/// persistent plus surplus pages.
pub(crate) fn included_surplus(path: &KPath) -> Option<KPath> {
    let text = path.as_str();
    let is_sum = text.starts_with("/sys/") && text.contains("/nr_hugepages");
    is_sum.then(|| path.beside("surplus_hugepages"))
}

/// The value to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// This number.
    Plain(u64),
    /// This number, unless the file has a larger one.
    AtLeast(u64),
    /// The pages of this size that are in use or reserved, unless the file has fewer.
    AtMostUsed(PageSize),
    /// A number minus the numbers in files that earlier steps wrote.
    Remainder {
        /// The number.
        total: u64,
        /// The files to subtract.
        minus: Vec<KPath>,
    },
}

/// The meaning of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NumberKind {
    /// The persistent pages of a pool or of a node's share.
    Pages(Pages),
    /// The overcommit: the limit of surplus pages.
    Overcommit {
        /// The page size.
        size: PageSize,
        /// Whether to report present surplus pages beyond the limit.
        is_limit: bool,
    },
    /// Any other number.
    Setting,
}

/// Persistent pages. The kernel accepts any number and may allocate fewer pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// The page size.
    pub size: PageSize,
    /// The node; `None` for a whole pool, and in a rollback.
    pub node: Option<NodeId>,
    /// Whether the pages are gigantic: the kernel rarely finds them after boot.
    pub gigantic: bool,
    /// Further attempts if the kernel allocates too few pages.
    pub effort: Option<Effort>,
}

/// Further attempts to allocate pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effort {
    /// The file that compacts memory.
    pub compact: KPath,
    /// Whether to drop caches and retry repeatedly.
    pub hard: bool,
    /// The minimum time of the retries.
    pub time: Duration,
}

/// A word to select in a kernel file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectWord {
    /// The file.
    pub path: KPath,
    /// The word.
    pub word: String,
}

/// Owner and mode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The user id.
    pub uid: u32,
    /// The group id.
    pub gid: u32,
    /// The permissions, with the sticky bit.
    pub mode: u32,
}

/// A directory to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeDir {
    /// Its path.
    pub path: PathBuf,
    /// Its owner and mode.
    pub owner: Owner,
    /// Whether to create missing parent directories in the same way.
    pub parents: bool,
}

/// A hugetlbfs to mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its mount point.
    pub point: PathBuf,
    /// The page size.
    pub size: PageSize,
    /// Its owner and mode, set as mount options, so that nobody else ever owns the mount.
    pub owner: Owner,
    /// The size limit.
    pub max_size: Option<Bytes>,
    /// The limit of files and directories.
    pub max_inodes: Option<u64>,
}

impl Mount {
    /// Returns the options for mount(2).
    pub fn options(&self) -> String {
        let Owner { uid, gid, mode } = self.owner;
        let size = self.size.get();
        let limits = [
            ("size", self.max_size.map(Bytes::get)),
            ("nr_inodes", self.max_inodes),
        ];
        let limits = limits
            .into_iter()
            .filter_map(|(name, limit)| Some((name, limit?)));
        let limits: String = limits
            .map(|(name, limit)| format!(",{name}={limit}"))
            .collect();
        format!("pagesize={size},uid={uid},gid={gid},mode={mode:04o}{limits}")
    }
}

/// Owner and mode to set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetOwner {
    /// The file.
    pub point: PathBuf,
    /// Owner and mode.
    pub owner: Owner,
}

/// Swap to add.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// The file or device.
    pub path: PathBuf,
    /// The size of the file; `None` for a device.
    pub size: Option<Bytes>,
}

/// A file or a link to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// Its path.
    pub path: PathBuf,
    /// Its contents.
    pub contents: Installed,
}

/// The contents of a file or a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Installed {
    /// A file.
    Text {
        /// Its text.
        text: String,
        /// Its mode.
        mode: u32,
    },
    /// A symbolic link to this path.
    Link(PathBuf),
}

/// A step that this machine cannot do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Impossible {
    /// The subject: a path or an option.
    pub subject: String,
    /// The reason.
    pub why: String,
    /// Advice.
    pub hint: String,
}
