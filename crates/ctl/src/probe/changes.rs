//! What a start changes before the program runs: the library inside hugectl is put on
//! disk, and the page cache is made to hold text in huge pages.
//!
//! Whoever looks knows this seam only. Behind it is [`apply`](crate::apply) for a
//! program that starts, and [`dry_run`](crate::probe::dry_run) for a plan that is printed:
//! from there nothing leads to what changes anything.

use std::path::PathBuf;

use hugetools_model::PageSize;

use crate::caller::Caller;
use crate::probe::bundle::Bundle;
use crate::probe::coverage::page_cache::{Job, Prepared};

/// The changes of a start, made or foreseen.
pub trait Changes {
    /// Sees to it that the library `name` inside hugectl is on disk; where it is.
    ///
    /// # Errors
    /// Why no place will do.
    fn place_library(
        &mut self,
        bundle: &Bundle<'_>,
        name: &str,
        caller: &Caller,
    ) -> Result<PathBuf, String>;

    /// Has the page cache hold text in huge pages.
    fn prepare_text(&mut self, job: &Job, size: PageSize, caller: &Caller) -> Prepared;

    /// Whether they are made, so that what was placed is there.
    fn are_made(&self) -> bool;
}
