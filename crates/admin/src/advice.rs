//! `--explain`: a machine's problems, each with a command that solves it, and facts without a
//! command.
//!
//! A command removes its finding and never causes one whose command reverses it. So advice
//! terminates.
//!
//! **Invariants.** Findings come from files alone; nothing is tried out. An unreadable file
//! produces no finding.

mod boot;
mod facts;
mod limits;
pub mod overview;
mod pools;
pub mod text;
mod thp;

use hugetools_model::Machine;
use serde::Serialize;

/// A problem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The subject: `kernel`, `pool`, `node`, `mount`, `shared_memory`, `thp` or `memory`.
    pub about: &'static str,
    /// The fact.
    pub fact: String,
    /// Its consequence.
    pub consequence: String,
    /// A shell command that solves the problem.
    pub command: String,
}

/// A fact without a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The subject, as in a [`Finding`].
    pub about: &'static str,
    /// The fact.
    pub fact: String,
    /// Its consequence.
    pub consequence: String,
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

/// Returns all problems of the machine.
pub fn findings(machine: &Machine) -> Vec<Finding> {
    let mut found = Vec::new();
    if !machine.pools.is_empty() {
        pools::find(machine, &mut found);
        limits::find(machine, &mut found);
    }
    if let Some(thp) = &machine.thp {
        thp::find(thp, machine, &mut found);
    }
    found
}

/// Returns all facts without a command.
pub fn facts(machine: &Machine) -> Vec<Fact> {
    let mut found = boot::find(machine);
    found.extend(facts::find(machine));
    found
}
