//! The front end: runs a tool, prints its report and returns the exit status.

pub mod console;
pub mod entry;
pub mod hugeadm;
pub mod hugectl;
pub mod hugeedit;
mod ignored_signals;
pub mod ld_hugetlbfs;
pub mod log;
pub mod pagesize;
pub mod stdout;
mod terminal;
pub mod usage;

use std::path::Path;

use hugetools_model::Root;

/// Returns the recorded tree in a directory, or this machine if none is given.
#[expect(
    clippy::disallowed_methods,
    reason = "without --sysroot, this machine is meant"
)]
fn root(sysroot: Option<&Path>) -> Result<Root, String> {
    match sysroot {
        None => Ok(Root::live()),
        Some(dir) => Root::at(dir).map_err(|why| format!("--sysroot: {why}")),
    }
}
