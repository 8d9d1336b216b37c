//! `--explain`: what is amiss on a machine, each thing as a fact, what follows from it, and
//! the command that mends it; and what is worth knowing although nothing is
//! to be done, or nothing that could be done before the next boot.
//!
//! Carried out, a command takes its finding away, and no other one comes of it
//! that undoes it: advice comes to an end.
//!
//! **Invariants.** Advice comes of what was read, and nothing is tried. What could not be
//! read is no finding.

mod boot;
mod facts;
mod limits;
mod mounts;
mod orphans;
mod pools;
pub mod text;
mod thp;

use hugetools_model::Machine;
use serde::Serialize;

use crate::effects::Account;
use crate::who::PoolAccount;

/// One thing that is amiss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What it is about: `kernel`, `pool`, `node`, `mount`, `shared_memory`,
    /// `thp` or `memory`.
    pub about: &'static str,
    /// What is so.
    pub fact: String,
    /// What follows from it.
    pub consequence: String,
    /// The command that mends it. It can be pasted into a shell.
    pub command: String,
}

/// One thing that is worth knowing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// As that of a [`Finding`].
    pub about: &'static str,
    /// What is so.
    pub fact: String,
    /// What follows from it.
    pub consequence: String,
}

/// The group that may make shared memory of huge pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ShmGroup {
    /// The kernel or the database does not say.
    Unknown,
    /// There is no group of this number.
    Missing(u64),
    /// This one.
    Known(Account),
}

impl Fact {
    fn new(about: &'static str, fact: impl Into<String>, consequence: impl Into<String>) -> Fact {
        Fact {
            about,
            fact: fact.into(),
            consequence: consequence.into(),
        }
    }
}

impl Finding {
    fn new(
        about: &'static str,
        fact: impl Into<String>,
        consequence: impl Into<String>,
        command: impl Into<String>,
    ) -> Finding {
        Finding {
            about,
            fact: fact.into(),
            consequence: consequence.into(),
            command: command.into(),
        }
    }
}

/// Everything that is amiss.
pub fn findings(machine: &Machine, group: &ShmGroup) -> Vec<Finding> {
    let mut found: Vec<Finding> = machine.unseen.map(unseen).into_iter().collect();
    if !machine.pools.is_empty() {
        pools::find(machine, &mut found);
        mounts::find(machine, &mut found);
        limits::find(machine, group, &mut found);
    }
    if let Some(thp) = &machine.thp {
        thp::find(thp, machine, &mut found);
    }
    found
}

/// Where a file is not there that each kernel has.
fn unseen(path: &str) -> Finding {
    let command = match path.starts_with("/proc/") {
        true => "mount -t proc proc /proc",
        false => "mount -t sysfs sysfs /sys",
    };
    Finding::new(
        "kernel",
        format!("{path} is not there, as in a chroot"),
        "which huge pages there are cannot be told, nor what is amiss with them",
        command,
    )
}

/// What holds pages of pools, and is used by nobody.
pub fn orphans(accounts: &[PoolAccount]) -> Vec<Finding> {
    orphans::find(accounts)
}

/// What else is worth knowing.
pub fn facts(machine: &Machine, group: &ShmGroup) -> Vec<Fact> {
    let mut found = boot::find(machine);
    if !machine.pools.is_empty() {
        found.extend(limits::empty_group(group));
    }
    found.extend(facts::find(machine));
    found
}
