//! Privileges that hugectl's own file grants.

use std::os::unix::fs::MetadataExt;

use hugetools_model::Root;

use crate::say::failure::Failure;
use crate::sys;

/// Refuses to start programs with such privileges: every user could run any program with them, and
/// the loader has removed variables from the environment.
///
/// # Errors
/// hugectl has such privileges.
pub fn check(root: &Root) -> Result<(), Failure> {
    match sys::is_secure() && is_marked(root) {
        true => Err(Failure::Own(
            "hugectl has rights of its own (set-user-ID, set-group-ID or capabilities of its \
             file), with which it starts no program\n  start it with a copy that has none: cp \
             makes one; keep this one for --pid"
                .to_owned(),
        )),
        false => Ok(()),
    }
}

/// Whether the file grants privileges, not an earlier process or a security module. An unreadable
/// file counts as marked.
fn is_marked(root: &Root) -> bool {
    const SET_ID: u32 = 0o6000;
    let own = root.host_path("/proc/self/exe");
    let mode = own.metadata().map(|metadata| metadata.mode());
    !mode.is_ok_and(|mode| mode & SET_ID == 0) || sys::has_file_capabilities(&own)
}
