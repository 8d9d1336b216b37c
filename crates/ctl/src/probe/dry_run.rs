//! What a start would change, for a plan that is only printed: nothing is changed.

use std::path::PathBuf;

use hugetools_model::PageSize;

use crate::caller::Caller;
use crate::probe::bundle::{self, Bundle};
use crate::probe::changes::Changes;
use crate::probe::coverage::page_cache::{self, Job, Prepared};

/// The changes of a start that does not come.
#[derive(Debug, Clone, Copy)]
pub struct Foreseen;

impl Changes for Foreseen {
    fn place_library(
        &mut self,
        bundle: &Bundle<'_>,
        name: &str,
        caller: &Caller,
    ) -> Result<PathBuf, String> {
        bundle::future_place(bundle, name, caller)
    }

    fn prepare_text(&mut self, job: &Job, size: PageSize, caller: &Caller) -> Prepared {
        page_cache::foresee(job, size, caller)
    }

    fn are_made(&self) -> bool {
        false
    }
}
