//! Changes the system for a program that is about to start.

mod bundled_library;
pub mod exec;
mod ledger;
mod page_cache;
mod private_dir;
pub mod rights;

use std::ffi::OsString;

use hugetools_contract::env::{REPORT_WATCH, STARTER};

use hugetools_model::Root;

use crate::caller::Caller;
use crate::files::places::places;
use crate::plan::{Bundled, Plan, Value, Variable, describe, static_text_not_huge};
use crate::probe::bundle::Bundle;
use crate::say::failure::Failure;
use crate::say::note::Note;

/// The result of an applied plan.
#[derive(Debug, Default)]
pub struct Applied {
    /// Messages.
    pub notes: Vec<Note>,
    /// Variables that override those of the plan.
    variables: Vec<Variable>,
}

/// Executes a plan.
///
/// # Errors
/// A requirement cannot be met, or the policy of `--thp-policy` cannot be set.
pub fn apply(
    plan: &Plan,
    bundle: &Bundle<'_>,
    caller: &Caller,
    root: &Root,
) -> Result<Applied, Failure> {
    let mut applied = Applied::default();
    if let Some(policy) = plan.thp_policy {
        applied.notes.extend(policy.set()?.map(Note::warning));
    }
    if let Some(library) = &plan.library {
        applied.place_library(library, bundle, caller, plan.requires())?;
    }
    applied.prepare_text(plan, caller, root)?;
    if plan.libraries_may_warn() {
        let place = ledger::place(caller, plan.warned_kinds());
        applied.variables.extend(place.map(|place| Variable {
            name: STARTER,
            value: Value::ProcessAnd(place.to_string().into()),
        }));
    }
    Ok(applied)
}

impl Applied {
    /// Tells the library where the shared report page is.
    pub fn set_watcher(&mut self, value: String) {
        self.variables.push(Variable {
            name: REPORT_WATCH,
            value: Value::ProcessAnd(value.into()),
        });
    }

    /// Writes the embedded library to disk.
    fn place_library(
        &mut self,
        library: &Bundled,
        bundle: &Bundle<'_>,
        caller: &Caller,
        is_required: bool,
    ) -> Result<(), Failure> {
        let value = match bundled_library::place(&places(caller), bundle, library.name, caller.euid)
        {
            Ok(path) if path == library.path => return Ok(()),
            Ok(path) => {
                let mut value = path.into_os_string();
                value.push(&library.rest);
                value
            }
            Err(why) => {
                let text = format!(
                    "hugectl's bundled {} cannot be written to disk: {why}",
                    library.name
                );
                if is_required {
                    return Err(Failure::Own(text));
                }
                self.notes.push(Note::warning(format!(
                    "{text}; the program runs without it, on base pages"
                )));
                let rest = library.rest.to_string_lossy();
                OsString::from(rest.trim_start_matches(':'))
            }
        };
        self.variables.push(Variable {
            name: "LD_PRELOAD",
            value: Value::Text(value),
        });
        Ok(())
    }

    /// Puts text on huge pages of the page cache.
    fn prepare_text(&mut self, plan: &Plan, caller: &Caller, root: &Root) -> Result<(), Failure> {
        for (index, text) in plan.text.iter().enumerate() {
            let cached = page_cache::prepare(text, caller, root);
            self.notes.push(describe(&cached));
            if index == 0 && plan.text_needs_page_cache && !cached.may_be_huge() {
                let short = static_text_not_huge();
                if plan.requires() {
                    return Err(Failure::Own(short.text));
                }
                self.notes.push(short);
            }
        }
        Ok(())
    }
}
