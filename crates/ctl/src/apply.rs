//! What a start changes, made: for a program that is about to run.

mod bundled_library;
pub mod effects;
pub mod exec;
pub mod live;
mod page_cache;
mod private_dir;
pub mod rights;
mod said;
mod writers;

use std::ffi::OsString;

use hugetools_contract::env::{REPORT_WATCH, STARTER};
use hugetools_model::Root;

use crate::caller::Caller;
use crate::plan::{Bundled, Plan, Value, Variable, describe, static_text_is_short};
use crate::probe::bundle::Bundle;
use crate::say::failure::Failure;
use crate::say::note::Note;
use effects::Effects;

/// What a start came to: what there is to say of it, and what the program is told besides
/// the plan.
#[derive(Debug, Default)]
pub struct Applied {
    /// What there is to say.
    pub notes: Vec<Note>,
    /// Variables that count before those of the plan.
    variables: Vec<Variable>,
}

/// Makes the changes of a plan.
///
/// # Errors
/// When the program is not to run without what could not be had.
pub fn apply(
    plan: &Plan,
    bundle: &Bundle<'_>,
    caller: &Caller,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Applied, Failure> {
    let mut applied = Applied::default();
    if let Some(policy) = plan.thp_policy {
        applied.notes.extend(policy.set()?.map(Note::warning));
    }
    if let Some(library) = &plan.library {
        applied.place_library(library, bundle, caller, plan.requires())?;
    }
    applied.prepare_text(plan, caller, effects)?;
    if let Some(Err(error)) = plan.core_dump.map(|filter| filter.set(root)) {
        applied.notes.push(Note::info(format!(
            "a core dump is without what is on pages of a pool: {error}"
        )));
    }
    if plan.libraries_may_warn() {
        let place = said::enter(caller, plan.warned_kinds());
        applied.variables.extend(place.map(|place| Variable {
            name: STARTER,
            value: Value::ProcessAnd(place.to_string().into()),
        }));
    }
    Ok(applied)
}

impl Applied {
    /// Has the library find the page for the report of the program.
    pub fn set_watcher(&mut self, value: String) {
        self.variables.push(Variable {
            name: REPORT_WATCH,
            value: Value::ProcessAnd(value.into()),
        });
    }

    /// Puts the library inside hugectl on disk.
    fn place_library(
        &mut self,
        library: &Bundled,
        bundle: &Bundle<'_>,
        caller: &Caller,
        is_required: bool,
    ) -> Result<(), Failure> {
        let value = match bundled_library::place(bundle, library.name, caller) {
            Ok(path) if path == library.path => return Ok(()),
            Ok(path) => {
                let mut value = path.into_os_string();
                value.push(&library.rest);
                value
            }
            Err(why) => {
                let text = format!(
                    "the {} inside hugectl cannot be put anywhere: {why}",
                    library.name
                );
                if is_required {
                    return Err(Failure::Own(text));
                }
                self.notes.push(Note::warning(format!(
                    "{text}; the program runs without it, on the pages it has"
                )));
                rest_alone(library)
            }
        };
        self.variables.push(Variable {
            name: "LD_PRELOAD",
            value: Value::Text(value),
        });
        Ok(())
    }

    /// Puts text on huge pages of the page cache.
    fn prepare_text(
        &mut self,
        plan: &Plan,
        caller: &Caller,
        effects: &mut dyn Effects,
    ) -> Result<(), Failure> {
        for (at, job) in plan.text.iter().enumerate() {
            let prepared = page_cache::run(job, caller, effects);
            self.notes.push(describe(&prepared));
            if at == 0 && plan.text_is_static && !prepared.is_huge() {
                let short = static_text_is_short();
                if plan.requires() {
                    return Err(Failure::Own(short.text));
                }
                self.notes.push(short);
            }
        }
        Ok(())
    }
}

/// What the loader preloads without our library.
fn rest_alone(library: &Bundled) -> OsString {
    let rest = library.rest.to_string_lossy();
    rest.trim_start_matches(':').into()
}
