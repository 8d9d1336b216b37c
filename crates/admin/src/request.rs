//! Checks the arguments against the machine: page sizes, nodes, users, groups and the form of
//! amounts. The plan compares amounts with the memory.
//!
//! [`spec`]: the grammar of amounts of pages.
//!
//! **Invariants.** A request changes nothing. Its page sizes and nodes exist.

pub mod boot;
mod limits;
mod mounts;
mod pool;
pub(crate) mod settings;
pub mod spec;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

pub(crate) use mounts::MOUNTS_DIR;
pub(crate) use pool::page_size;

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Machine, PageCount, PageSize};

use crate::args::{Args, Mounts, Pools};
use crate::effects::Effects;
use crate::step::{Step, swap_file};

/// All changes that a command line requests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// Numbers and words for kernel files, in order of execution.
    pub settings: Vec<Setting>,
    /// `--set-recommended-min_free_kbytes`: the option as written.
    pub min_free: Option<String>,
    /// `--set-recommended-shmmax`: the option as written.
    pub shmmax: Option<String>,
    /// `--set-shm-group`
    pub shm_group: Option<GroupOption>,
    /// `--set-userfaultfd-group`
    pub userfaultfd_group: Option<GroupOption>,
    /// `--pool-pages-min` and then `--pool-spread`, each in the order given.
    pub pool_min: Vec<PoolChange>,
    /// `--pool-pages-max`, in the order given; runs after `pool_min`.
    pub pool_max: Vec<PoolChange>,
    /// Options for growing pools, and `--clear`.
    pub growth: Pools,
    /// The lowest unused number of a permanent swap file.
    pub swap_number: u64,
    /// `--unmount` and `--clear`: mount points, the latest mount first.
    pub unmount: Vec<PathBuf>,
    /// `--create-mounts` and related options.
    pub mounts: Vec<NewMounts>,
    /// `--install-boot` or `--uninstall-boot`
    pub boot: Option<boot::Boot>,
    /// Warnings about the interpretation of options.
    pub notes: Vec<String>,
}

/// A number or word for a kernel file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The option as written.
    pub option: String,
    /// Writes the value, or states why this machine lacks the setting.
    pub step: Step,
}

/// A change of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolChange {
    /// The option as written.
    pub option: String,
    /// The page size, which the machine has.
    pub size: PageSize,
    /// The scope and the change.
    pub place: Place,
    /// The effort, and whether a shortage is an error.
    pub wish: Wish,
}

/// The effort for a change, and whether a shortage is an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Wish {
    /// Whether to drop caches and try repeatedly, like `--hard`.
    pub hard: bool,
    /// The minimum time of the attempts.
    pub time: Duration,
    /// Whether a shortage is only a warning.
    pub optional: bool,
}

impl PoolChange {
    /// Returns the number of pages that the change sets; `None` if it is relative or for nodes.
    pub(crate) fn whole(&self) -> Option<PageCount> {
        match self.place {
            Place::Whole(Change::Set(pages)) => Some(pages),
            _ => None,
        }
    }
}

/// Returns the minimum of a pool after those of these changes that concern it.
pub(crate) fn minimum_after<'a>(
    machine: &Machine,
    pool: &Pool,
    changes: impl Iterator<Item = &'a PoolChange>,
) -> PageCount {
    let mut minimum = pool.minimum();
    let mut nodes = BTreeMap::new();
    for change in changes.filter(|change| change.size == pool.size) {
        match &change.place {
            Place::Whole(to) => minimum = to.of(minimum),
            Place::Nodes(shares) => {
                for (id, to) in shares {
                    let present = || machine.node_minimum(*id, pool.size);
                    let share = nodes.entry(*id).or_insert_with(present);
                    let rest = minimum.saturating_sub(*share);
                    *share = to.of(*share);
                    minimum = rest.checked_add(*share).unwrap_or(rest);
                }
            }
        }
    }
    minimum
}

/// The scope of a change: the whole pool, or a list of nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The whole pool.
    Whole(Change),
    /// These nodes, which all have this pool.
    Nodes(Vec<(NodeId, Change)>),
}

/// A change of a number of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Set the number of pages.
    Set(PageCount),
    /// Add pages.
    Add(PageCount),
    /// Remove pages, at most all.
    Remove(PageCount),
}

impl Change {
    /// Returns the number of pages after the change.
    pub fn of(self, before: PageCount) -> PageCount {
        match self {
            Change::Set(pages) => pages,
            Change::Add(more) => before.checked_add(more).unwrap_or(PageCount::new(u64::MAX)),
            Change::Remove(fewer) => before.saturating_sub(fewer),
        }
    }
}

/// A group that gets a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupOption {
    /// The option as written.
    pub option: String,
    /// The group's number.
    pub gid: u32,
}

/// A set of mounts to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMounts {
    /// The option as written.
    pub option: String,
    /// Their users.
    pub set: MountSet,
    /// Their limits.
    pub limits: Mounts,
}

/// A set of mounts, one per page size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountSet {
    /// `--create-mounts`: for root and its group.
    Root,
    /// `--create-user-mounts`: for a user.
    User {
        /// The user's name.
        name: String,
        /// The user's id.
        uid: u32,
    },
    /// `--create-group-mounts`: for a group.
    Group {
        /// The group's name.
        name: String,
        /// The group's id.
        gid: u32,
    },
    /// `--create-global-mounts`: for everybody.
    Global,
}

impl Request {
    /// Checks the arguments. Returns all problems, one message each.
    pub fn new(
        args: &Args,
        machine: &Machine,
        effects: &mut dyn Effects,
    ) -> Result<Request, Vec<String>> {
        let mut request = Request {
            growth: args.pools.clone(),
            ..Request::default()
        };
        let mut errors = request.add(args, machine, effects);
        boot::check(args, effects, &mut request, &mut errors);
        if args.mounts.unmount || args.pools.clear {
            request.unmount = mounts::own_mounts(machine);
        }
        let mut is_used = |number: &u64| matches!(effects.stat(&swap_file(*number)), Ok(Some(_)));
        request.swap_number = (1..).find(|number| !is_used(number)).unwrap_or_default();
        match errors.is_empty() {
            true => Ok(request),
            false => Err(errors),
        }
    }

    /// Adds changes of settings, pools and mounts. Returns all problems, one message each.
    pub(crate) fn add(
        &mut self,
        args: &Args,
        machine: &Machine,
        effects: &mut dyn Effects,
    ) -> Vec<String> {
        let mut errors = Vec::new();
        settings::check(args, machine, self, &mut errors);
        pool::check(&args.pools, machine, self, &mut errors);
        limits::check(&args.limits, effects, self, &mut errors);
        mounts::check(&args.mounts, machine, effects, self, &mut errors);
        errors
    }

    /// Returns the maximum of a pool after these changes. Ignores relative changes of a maximum.
    pub(crate) fn maximum_after(&self, machine: &Machine, pool: &Pool) -> PageCount {
        let own = |change: &&PoolChange| change.size == pool.size;
        let given = self.pool_max.iter().rfind(own).and_then(PoolChange::whole);
        let minimum = minimum_after(machine, pool, self.pool_min.iter());
        given.unwrap_or_else(|| pool.maximum().max(minimum))
    }
}

/// Returns a value for messages, with quotes if it is empty.
pub(crate) fn shown(value: &str) -> &str {
    match value {
        "" => "\"\"",
        value => value,
    }
}
