//! What a start changes, made: for a program that is about to run.

use std::path::PathBuf;

use hugetools_model::PageSize;

use crate::bundle::{self, Bundle};
use crate::caller::Caller;
use crate::changes::Changes;
use crate::effects::Effects;
use crate::prepare::{self, Job, Prepared};

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
        bundle::place(bundle, name, caller)
    }

    fn prepare_text(&mut self, job: &Job, size: PageSize, caller: &Caller) -> Prepared {
        prepare::run(job, size, caller, self.0)
    }

    fn are_made(&self) -> bool {
        true
    }
}
