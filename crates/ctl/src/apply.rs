//! What a start changes, made: for a program that is about to run.

mod bundled_library;
pub mod effects;
pub mod exec;
pub mod live;
mod page_cache;
mod private_dir;
pub mod rights;
pub mod said;
mod writers;

use std::path::PathBuf;

use hugetools_model::PageSize;

use crate::caller::Caller;
use crate::probe::bundle::Bundle;
use crate::probe::changes::Changes;
use crate::probe::coverage::page_cache::{Job, Prepared};
use effects::Effects;

/// The changes of a start, by what it may do to the system.
#[derive(Debug)]
pub struct Applied<'a, E>(pub &'a mut E);

impl<E: Effects> Changes for Applied<'_, E> {
    fn place_library(
        &mut self,
        bundle: &Bundle<'_>,
        name: &str,
        caller: &Caller,
    ) -> Result<PathBuf, String> {
        bundled_library::place(bundle, name, caller)
    }

    fn prepare_text(&mut self, job: &Job, size: PageSize, caller: &Caller) -> Prepared {
        page_cache::run(job, size, caller, self.0)
    }

    fn are_made(&self) -> bool {
        true
    }
}
