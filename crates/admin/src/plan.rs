//! What will be done: a list of steps, made from the machine and the request
//! alone, without reading, writing or asking the time.
//!
//! The order is fixed, whatever the order of the options; it is that of
//! [`plan`]. Within a task the steps follow each other, and one that fails
//! leaves the rest of its task undone.
//!
//! [`shell`] prints a plan as commands.
//!
//! **Invariants.** Of the same two values the same plan comes. A plan can be printed and
//! thrown away: nothing has happened.

mod limits;
mod mend;
mod mounts;
pub(crate) mod pool;
mod settings;
pub mod shell;
mod swap;

use hugetools_model::{Machine, PageSize};

pub(crate) use swap::directories as swap_directories;

use crate::request::Request;
use crate::step::Step;
use crate::step::unfinished::Unfinished;

/// Everything that will be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    /// What should be said before.
    pub notes: Vec<String>,
    /// What a killed run noted, until it is mended.
    pub unfinished: Unfinished,
    /// Why nothing of it is done.
    pub refusal: Option<Refusal>,
    /// One task for each option, and what belongs to it.
    pub tasks: Vec<Task>,
}

/// Why nothing is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The machine cannot have it.
    Impossible(String),
    /// Everything else on the machine would suffer.
    Harmful(String),
}

/// The steps of one option.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Task {
    /// The option as written.
    pub option: String,
    /// Its steps, in order.
    pub steps: Vec<Step>,
    /// When it is run.
    pub when: When,
    /// What it does to the maximum of a pool on its way.
    pub maximum: Maximum,
}

/// What a task does to the maximum of a pool on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Maximum {
    /// Nothing that anybody could find half done.
    Untouched,
    /// Between the steps it is another than before and after.
    Unsettled(PageSize),
    /// It puts back the one that was noted.
    Restored(PageSize),
}

/// When a task is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Unless the run was interrupted before.
    Wanted,
    /// In any case: it takes back what was temporary.
    Always,
}

impl Task {
    fn new(option: impl Into<String>, steps: Vec<Step>) -> Task {
        Task {
            option: option.into(),
            steps,
            when: When::Wanted,
            maximum: Maximum::Untouched,
        }
    }
}

/// Makes the plan.
pub fn plan(machine: &Machine, request: &Request) -> Plan {
    let mut plan = Plan {
        notes: request.notes.clone(),
        unfinished: request.unfinished.clone(),
        refusal: None,
        tasks: Vec::new(),
    };
    let mut machine = mend::plan(machine, &request.unfinished, &mut plan);
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
