//! What will be done: a list of steps, made from the machine and the request
//! alone, without reading, writing or asking the time.
//!
//! The order is fixed, whatever the order of the options: shared memory
//! group, minimums, maximums, mounts. Within a task the steps follow each
//! other, and one that fails leaves the rest of its task undone.

mod limits;
mod mounts;
mod pool;

use std::path::PathBuf;

use hugetools_model::node::NodeId;
use hugetools_model::{KPath, Machine, PageSize};

use crate::request::Request;

/// Everything that will be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// What should be said before.
    pub notes: Vec<String>,
    /// One task for each option.
    pub tasks: Vec<Task>,
}

/// The steps of one option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The option as written.
    pub option: String,
    /// Its steps, in order.
    pub steps: Vec<Step>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    /// Writes a number to a kernel file.
    Write(Write),
    /// Makes a directory, if it is not there.
    MakeDir(MakeDir),
    /// Mounts a hugetlbfs.
    Mount(Mount),
    /// Sets owner and mode of a mounted hugetlbfs, if they are others.
    Own(Own),
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// The persistent pages of a pool or of a node's share of it: the kernel
    /// takes any number and may find fewer pages.
    Pages {
        /// The page size.
        size: PageSize,
        /// The node.
        node: Option<NodeId>,
        /// Whether the pages are larger than the page allocator's blocks.
        gigantic: bool,
        /// Whether there is memory to make them of.
        memory: bool,
    },
    /// The surplus pages that are allowed.
    Overcommit {
        /// The page size.
        size: PageSize,
    },
    /// A number that is simply set.
    Setting,
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
    /// Whose, if it was not there before.
    pub owner: Owner,
    /// Whether missing directories above are made the same way.
    pub parents: bool,
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
}

impl Mount {
    /// The options of the mount call.
    pub fn options(&self) -> String {
        let Owner { uid, gid, mode } = self.owner;
        format!(
            "pagesize={},uid={uid},gid={gid},mode={mode:04o}",
            self.size.get()
        )
    }
}

/// A mounted hugetlbfs whose owner and mode must be these.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    /// Where it is mounted.
    pub point: PathBuf,
    /// Whose it must be.
    pub owner: Owner,
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

/// Makes the plan.
pub fn plan(machine: &Machine, request: &Request) -> Plan {
    let mut plan = Plan {
        notes: request.notes.clone(),
        tasks: Vec::new(),
    };
    plan.tasks
        .extend(request.shm_group.as_ref().map(limits::shm_group));
    pool::plan(machine, request, &mut plan);
    for set in &request.mounts {
        plan.tasks.push(mounts::plan(machine, *set));
    }
    plan
}
