//! Plans changes: computes a list of steps from the machine and the request, without
//! any I/O.
//!
//! The order of tasks is fixed (see [`plan`]), independent of the order of options.
//! Steps in a task run one after the other; after a failure the rest of the task is
//! skipped.
//!
//! [`shell`] prints a plan as commands.
//!
//! **Invariants.** The same input gives the same plan. Making a plan changes nothing.

mod limits;
mod mounts;
pub(crate) mod pool;
mod recover;
mod settings;
pub mod shell;
mod swap;

use hugetools_model::{Machine, PageSize};

pub(crate) use swap::directories as swap_directories;

use crate::request::Request;
use crate::step::Step;
use crate::step::unfinished::Unfinished;

/// All tasks of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Warnings to print first.
    pub notes: Vec<String>,
    /// Notes of a killed run that the plan doesn't resolve.
    pub unfinished: Unfinished,
    /// Why the plan must not run.
    pub refusal: Option<Refusal>,
    /// A task per option, and related tasks.
    pub tasks: Vec<Task>,
}

/// Why a plan must not run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The machine has too little memory.
    Impossible(String),
    /// Too little memory would be left for other programs; `--force` overrides it.
    Harmful(String),
}

/// The steps of one option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The option as written.
    pub option: String,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// When it runs.
    pub when: When,
    /// Its effect on a pool's maximum.
    pub maximum: Maximum,
}

/// The effect of a task on a pool's maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maximum {
    /// The maximum never has an intermediate value.
    Untouched,
    /// The maximum is temporarily wrong between two steps.
    Unsettled(PageSize),
    /// Restores the noted maximum.
    Restored(PageSize),
}

/// When a task runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Unless the run is interrupted first.
    UnlessInterrupted,
    /// Always, because it cleans up something temporary.
    Always,
}

impl Task {
    fn new(option: impl Into<String>, steps: Vec<Step>) -> Task {
        Task {
            option: option.into(),
            steps,
            when: When::UnlessInterrupted,
            maximum: Maximum::Untouched,
        }
    }
}

/// Plans a request.
pub fn plan(machine: &Machine, request: &Request) -> Plan {
    let mut plan = Plan {
        notes: request.notes.clone(),
        unfinished: request.unfinished.clone(),
        refusal: None,
        tasks: Vec::new(),
    };
    let mut machine = recover::plan(machine, &request.unfinished, &mut plan);
    plan.tasks
        .extend(request.settings.iter().map(settings::plan));
    limits::plan(&machine, request, &mut plan);
    pool::plan(&machine, request, &mut plan);
    if let Some(unmount) = &request.unmount {
        plan.tasks.extend(mounts::unmount(unmount));
        machine
            .mounts
            .retain(|mount| !unmount.points.contains(&mount.point));
    }
    for set in &request.mounts {
        plan.tasks.push(mounts::plan(&machine, set, request));
    }
    plan
}
