//! Plans changes: computes steps from the machine and the request, without any I/O.
//!
//! The order of tasks is fixed (see [`plan`]), independent of the order of options.
//! The steps of a task run in order; a failure skips the rest of its task.
//!
//! [`shell`] prints a plan as commands.
//!
//! **Invariants.** The same input gives the same plan. Making a plan changes nothing.

mod boot;
mod limits;
mod mounts;
pub(crate) mod pool;
pub mod shell;
mod swap;

use hugetools_model::Machine;

use crate::request::{Request, Setting};
use crate::step::Step;

/// All tasks of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// Warnings to print first.
    pub notes: Vec<String>,
    /// Why the plan must not run.
    pub refusal: Option<Refusal>,
    /// One or more tasks per option.
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

/// Steps of one option. A failure skips the rest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The option as written.
    pub option: String,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// Whether it runs even after an interruption, because it cleans up.
    pub always: bool,
    /// Whether a shortage is only a warning.
    pub optional: bool,
}

impl Task {
    pub(crate) fn new(option: impl Into<String>, steps: Vec<Step>) -> Task {
        Task {
            option: option.into(),
            steps,
            always: false,
            optional: false,
        }
    }
}

fn setting(setting: &Setting) -> Task {
    Task::new(&setting.option, vec![setting.step.clone()])
}

/// Plans a request.
pub fn plan(machine: &Machine, request: &Request) -> Plan {
    let mut plan = Plan {
        notes: request.notes.clone(),
        refusal: None,
        tasks: request.settings.iter().map(setting).collect(),
    };
    limits::plan(machine, request, &mut plan);
    // Unmounting frees pages for the pools.
    plan.tasks.extend(mounts::unmount(request));
    pool::plan(machine, request, &mut plan);
    let stay = machine.mounts.iter();
    let stay = stay.filter(|mount| !request.unmount.contains(&mount.point));
    let stay: Vec<_> = stay.cloned().collect();
    for set in &request.mounts {
        plan.tasks.push(mounts::plan(machine, &stay, set));
    }
    plan.tasks.extend(request.boot.iter().flat_map(boot::plan));
    plan
}
