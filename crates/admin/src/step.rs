//! The steps that plans are made of.
//!
//! [`unfinished`]: what a run that is killed leaves to the next one.
//!
//! **Invariants.** A step names files by the kernel's paths, and holds all that is needed to
//! do it.

use std::fmt;
use std::path::PathBuf;

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::{Bytes, KPath, PageCount, PageSize};

pub mod unfinished;

/// Where swap files that stay are made.
pub const SWAP_DIR: &str = "/var/lib/hugetlbfs/swap";

/// The swap file that goes again. One is enough: one run at a time.
pub const TEMP_SWAP: &str = "/var/lib/hugetlbfs/swap/temp/swapfile";

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Writes a number to a kernel file.
    Write(Write),
    /// Writes a word to a kernel file that has a choice of them.
    Choose(Choose),
    /// Splits huge pages into smaller ones.
    Demote(Demote),
    /// Makes a directory, if it is not there.
    MakeDir(MakeDir),
    /// Removes a directory, if it is there and empty.
    RemoveDir(PathBuf),
    /// Mounts a hugetlbfs.
    Mount(Mount),
    /// Sets owner and mode of a mounted hugetlbfs or a device, if they are others.
    Own(Own),
    /// Unmounts what was mounted last on a directory.
    Unmount(PathBuf),
    /// Makes swap and uses it.
    SwapOn(Swap),
    /// Uses swap no longer, and removes its file.
    SwapOff(Swap),
    /// Cannot be done on this machine; found out before anything was tried.
    Impossible(Impossible),
}

/// A number for a kernel file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub file: Number,
    /// What to write.
    pub value: Value,
    /// What the number is.
    pub what: What,
    /// Why the kernel is known to refuse it. A running kernel is asked all
    /// the same; a recorded tree has none to ask.
    pub refused: Option<&'static str>,
}

/// A kernel file that holds a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Number {
    /// The file.
    pub path: KPath,
    /// A file whose number a running kernel includes in that of `path`: what
    /// is written to `nr_hugepages` below `/sys` are the persistent pages, what
    /// is read from it are these and the surplus pages.
    pub surplus: Option<KPath>,
}

/// What to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// This number.
    Plain(u64),
    /// This number, unless there is a larger one already.
    AtLeast(u64),
    /// What is left of a number when the numbers in some files, which earlier
    /// steps wrote, are taken away.
    Rest {
        /// The number.
        of: u64,
        /// The files.
        less: Vec<Number>,
    },
}

/// What a number is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// The persistent pages of a pool or of a node's share of it.
    Pages(Pages),
    /// The surplus pages that are allowed.
    Overcommit {
        /// The page size.
        size: PageSize,
        /// Whether it is to hold at once: surplus pages that are more are said.
        is_limit: bool,
    },
    /// A number that is simply set.
    Setting,
}

/// Persistent pages: the kernel takes any number and may find fewer pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pages {
    /// The page size.
    pub size: PageSize,
    /// The node.
    pub node: Option<NodeId>,
    /// Whether the pages are larger than the page allocator's blocks.
    pub gigantic: bool,
    /// How to try for pages that the kernel did not find at once.
    pub effort: Option<Effort>,
}

/// How to try for pages that the kernel did not find at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Effort {
    /// The file that joins free memory.
    pub compact: KPath,
    /// Whether to drop caches and to try again and again.
    pub hard: bool,
    /// Swap to add when that does not do either.
    pub swap: Option<Swap>,
}

/// A word for a kernel file that has a choice of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choose {
    /// The file.
    pub path: KPath,
    /// The word.
    pub word: String,
}

/// Huge pages to split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demote {
    /// The write-only file.
    pub path: KPath,
    /// How many to split.
    pub pages: PageCount,
    /// The file that counts those that there are, on the same node.
    pub count: Number,
    /// Their size.
    pub size: PageSize,
    /// The size that they are split into.
    pub into: PageSize,
}

/// Owner and mode of a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Owner {
    /// The user's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
    /// The permissions, the sticky bit included.
    pub mode: u32,
}

/// A directory to make.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MakeDir {
    /// Where.
    pub path: PathBuf,
    /// Whose.
    pub owner: Owner,
    /// Whether missing directories above are made the same way.
    pub parents: bool,
    /// Whether one that is there is given this owner and mode too.
    pub mend: bool,
}

/// How much a mount may hold, or reserves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MountSize {
    /// So many bytes.
    Bytes(Bytes),
    /// Hundredths of the pool at the time of the mount.
    Percent(u64),
}

impl MountSize {
    /// Whether it is 0, which asks for no limit.
    pub fn is_zero(self) -> bool {
        matches!(self, MountSize::Bytes(Bytes::ZERO) | MountSize::Percent(0))
    }

    /// The whole pages of a size, of a pool that has so many.
    pub fn pages(self, size: PageSize, pool: PageCount) -> PageCount {
        match self {
            MountSize::Bytes(bytes) => bytes.pages(size).0,
            MountSize::Percent(percent) => {
                let pages = u128::from(pool.get()) * u128::from(percent) / 100;
                PageCount::new(u64::try_from(pages).unwrap_or(u64::MAX))
            }
        }
    }

    /// The value of a mount option.
    fn option(self) -> String {
        match self {
            MountSize::Bytes(bytes) => bytes.get().to_string(),
            MountSize::Percent(percent) => format!("{percent}%"),
        }
    }
}

impl fmt::Display for MountSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MountSize::Bytes(bytes) => bytes.fmt(f),
            MountSize::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// A hugetlbfs to mount.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Where.
    pub point: PathBuf,
    /// The size of its pages.
    pub size: PageSize,
    /// Whose; told to the kernel in the mount call, so that it is never
    /// anybody else's.
    pub owner: Owner,
    /// How much it may hold.
    pub max_size: Option<MountSize>,
    /// How much of the pool is kept for it.
    pub min_size: Option<MountSize>,
    /// How many files and directories it may have.
    pub max_inodes: Option<u64>,
}

impl Mount {
    /// The options of the mount call.
    pub fn options(&self) -> String {
        let Owner { uid, gid, mode } = self.owner;
        let size = self.size.get();
        let limits = [
            ("size", self.max_size.map(MountSize::option)),
            ("min_size", self.min_size.map(MountSize::option)),
            (
                "nr_inodes",
                self.max_inodes.map(|inodes| inodes.to_string()),
            ),
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

/// A mounted hugetlbfs, or a device, whose owner and mode must be these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// Where it is mounted, or the device.
    pub point: PathBuf,
    /// Whose it must be.
    pub owner: Owner,
}

/// Swap to add for a while.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Swap {
    /// The file or the device.
    pub path: PathBuf,
    /// The size of the file; `None` is a device.
    pub size: Option<Bytes>,
    /// Whether it stays, so that a killed run leaves it to nobody to remove.
    pub stays: bool,
}

/// What cannot be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Impossible {
    /// What it is about: a path, or an option.
    pub subject: String,
    /// Why not.
    pub why: String,
    /// What to do instead.
    pub hint: String,
}
