//! What is wanted, checked against the machine: after this nothing is unknown,
//! too large or ambiguous.
//!
//! [`spec`]: the grammar of an amount of pages.
//!
//! **Invariants.** Nothing is changed here, and nothing is left for a plan to refuse.

mod limits;
mod mounts;
mod pool;
mod settings;
pub mod spec;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub(crate) use mounts::BASE;

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::{KPath, Machine, PageCount, PageSize};

use crate::args::Args;
use crate::effects::Effects;
use crate::step::unfinished::Unfinished;
use crate::step::{MountSize, SWAP_DIR, TEMP_SWAP};

/// All that a command line asks to change.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// What a killed run left.
    pub unfinished: Unfinished,
    /// Numbers and words for kernel files, in the order in which they are set.
    pub settings: Vec<Setting>,
    /// `--set-recommended-min_free_kbytes`
    pub min_free: bool,
    /// `--set-recommended-shmmax`
    pub shmmax: bool,
    /// `--set-shm-group`
    pub shm_group: Option<GroupOption>,
    /// `--set-userfaultfd-group`
    pub userfaultfd_group: Option<GroupOption>,
    /// `--pool-pages-min` and then `--pool-spread`, in the order written.
    pub pool_min: Vec<PoolChange>,
    /// `--demote`, in the order written.
    pub demotions: Vec<Demotion>,
    /// `--pool-pages-max`, in the order written; after all of `pool_min`.
    pub pool_max: Vec<PoolChange>,
    /// How pools grow.
    pub growth: Growth,
    /// `--unmount`
    pub unmount: Option<Unmount>,
    /// `--create-mounts` and its relatives.
    pub mounts: Vec<MountSet>,
    /// What all new mounts have in common.
    pub mount_limits: MountLimits,
    /// What was understood in a way that should be said.
    pub notes: Vec<String>,
}

/// A number or word for a kernel file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The option as written.
    pub option: String,
    /// The file.
    pub path: KPath,
    /// What to write.
    pub value: SettingValue,
    /// Why it cannot be set on this machine, and what to do instead.
    pub impossible: Option<(String, String)>,
}

/// What to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingValue {
    /// A number.
    Number(u64),
    /// One of the words that the file offers.
    Word(String),
}

/// A change of one pool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolChange {
    /// The option as written.
    pub option: String,
    /// The page size, one of the machine's.
    pub size: PageSize,
    /// Where, and to what.
    pub place: Place,
}

/// The pool as a whole, or nodes with a change for each.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// All of it.
    Whole(Change),
    /// Each of these nodes, which all have this pool.
    Nodes(Vec<(NodeId, Change)>),
}

/// What becomes of a number of pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// This many.
    To(PageCount),
    /// So many more.
    Up(PageCount),
    /// So many fewer, but not less than none.
    Down(PageCount),
}

impl Change {
    /// The number of pages after the change.
    pub fn of(self, before: PageCount) -> PageCount {
        match self {
            Change::To(pages) => pages,
            Change::Up(more) => before.checked_add(more).unwrap_or(PageCount::new(u64::MAX)),
            Change::Down(fewer) => before.saturating_sub(fewer),
        }
    }
}

/// Pages to split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Demotion {
    /// The option as written.
    pub option: String,
    /// The size of the pages.
    pub size: PageSize,
    /// The size that the kernel splits them into.
    pub into: PageSize,
    /// How many, on which nodes; without a node anywhere.
    pub shares: Vec<(Option<NodeId>, PageCount)>,
}

/// How pools grow.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Growth {
    /// `--hard`
    pub hard: bool,
    /// `--force`
    pub force: bool,
    /// `--obey-mempolicy`
    pub mempolicy: bool,
    /// `--add-temp-swap`: so many huge pages; 0 forbids `hard` to add any.
    pub temp_swap: Option<u64>,
    /// `--add-ramdisk-swap`
    pub ramdisk_swap: bool,
    /// `--persist`
    pub persist: bool,
    /// The names that swap files which stay have already.
    pub swap_files: BTreeSet<OsString>,
}

/// A group that is given leave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupOption {
    /// The option as written.
    pub option: String,
    /// The group's number.
    pub gid: u32,
}

/// What is to be unmounted and removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmount {
    /// The mounts, the last one first.
    pub points: Vec<PathBuf>,
    /// The directories, each before the one that it is in.
    pub directories: Vec<PathBuf>,
}

/// A set of mounts, one for each page size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MountSet {
    /// `--create-mounts`: for root and its group.
    Root,
    /// `--create-user-mounts`: for a user.
    User {
        /// His name.
        name: String,
        /// His number.
        uid: u32,
    },
    /// `--create-group-mounts`: for a group.
    Group {
        /// Its name.
        name: String,
        /// Its number.
        gid: u32,
    },
    /// `--create-global-mounts`: for everybody.
    Global,
}

/// What all new mounts have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct MountLimits {
    /// `--max-size`; 0 is no limit, also of a mount that is there.
    pub max_size: Option<MountSize>,
    /// `--min-size`
    pub min_size: Option<MountSize>,
    /// `--max-inodes`; 0 is no limit.
    pub max_inodes: Option<u64>,
    /// `--mount-mode`
    pub mode: Option<u32>,
}

impl Request {
    /// Checks the arguments.
    ///
    /// # Errors
    /// Everything that is wrong, one fragment each; then nothing may be done.
    pub fn new(
        args: &Args,
        machine: &Machine,
        effects: &mut dyn Effects,
    ) -> Result<Request, Vec<String>> {
        let mut request = Request {
            min_free: args.limits.set_recommended_min_free_kbytes,
            shmmax: args.limits.set_recommended_shmmax,
            ..Request::default()
        };
        let mut errors = Vec::new();
        settings::check(args, machine, &mut request, &mut errors);
        pool::check(&args.pools, machine, &mut request, &mut errors);
        limits::check(&args.limits, effects, &mut request, &mut errors);
        mounts::check(&args.mounts, machine, effects, &mut request, &mut errors);
        request.idle_options(args);
        match leftovers(effects, &mut request.growth.swap_files) {
            Ok(unfinished) => request.unfinished = unfinished,
            Err(error) => errors.push(error),
        }
        match errors.is_empty() {
            true => Ok(request),
            false => Err(errors),
        }
    }

    /// Options that only say how something is done which nobody asked for.
    fn idle_options(&mut self, args: &Args) {
        let pools = &args.pools;
        let mut idle = |given: bool, option: &str, without: &str| {
            if given {
                let note = format!("{option} does nothing without {without}");
                self.notes.push(note);
            }
        };
        let minimum = "--pool-pages-min or --pool-spread";
        idle(pools.hard && !pools.grows(), "--hard", minimum);
        idle(pools.force && !pools.grows(), "--force", minimum);
        let temporary = pools.add_temp_swap.is_some() && !pools.grows();
        idle(temporary, "--add-temp-swap", minimum);
        idle(
            pools.add_ramdisk_swap && !pools.grows(),
            "--add-ramdisk-swap",
            minimum,
        );
        let swap = pools.add_temp_swap.is_some() || pools.add_ramdisk_swap;
        idle(
            pools.persist && !swap,
            "--persist",
            "--add-temp-swap or --add-ramdisk-swap",
        );
        let whole = self.pool_min.iter().chain(&self.pool_max);
        let whole = whole
            .clone()
            .any(|change| matches!(change.place, Place::Whole(_)));
        idle(
            pools.obey_mempolicy && !whole,
            "--obey-mempolicy",
            "a whole pool to change",
        );
        let mounts = args.mounts.qualifies() && !args.mounts.creates();
        idle(
            mounts,
            "an option for new mounts",
            "one that creates mounts",
        );
    }
}

/// A value as messages show it, where it is empty, too.
fn shown(value: &str) -> &str {
    match value {
        "" => "\"\"",
        value => value,
    }
}

/// What a killed run left: what it noted, and temporary swap. Names of swap
/// files that shall stay are collected on the way.
fn leftovers(
    effects: &mut dyn Effects,
    swap_files: &mut BTreeSet<OsString>,
) -> Result<Unfinished, String> {
    let mut unfinished = effects
        .unfinished()
        .map_err(|error| format!("cannot read what an earlier run left: {error}"))?;
    // What cannot be listed was not made by this program's last run.
    let mut names = |dir: &str| effects.names(Path::new(dir)).unwrap_or_default();
    swap_files.extend(names(SWAP_DIR));
    let temporary = Path::new(TEMP_SWAP);
    if names(&format!("{SWAP_DIR}/temp"))
        .iter()
        .any(|name| temporary.file_name() == Some(name))
    {
        unfinished.swaps.insert(temporary.to_owned());
    }
    Ok(unfinished)
}

#[cfg(test)]
mod tests;
