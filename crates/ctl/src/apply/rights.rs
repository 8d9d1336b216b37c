//! Privileges that hugectl's own file grants.

use std::os::unix::fs::MetadataExt;

use hugetools_model::Root;

use crate::say::failure::Failure;
use crate::sys;

/// Refuses to start programs with privileges of hugectl's file: every user could run any program
/// with them, and the loader has removed variables from the environment.
///
/// # Errors
/// The file grants privileges.
pub fn check(root: &Root) -> Result<(), Failure> {
    match sys::is_secure() && file_grants_privileges(root) {
        true => Err(Failure::Own(
            "hugectl's file has set-user-ID, set-group-ID or capabilities, so it starts no \
             program\n  start programs with a copy made by cp, which has none; keep this one for \
             --pid"
                .to_owned(),
        )),
        false => Ok(()),
    }
}

/// Whether the file itself grants privileges, rather than a parent process or a security module.
/// True if it is unreadable.
fn file_grants_privileges(root: &Root) -> bool {
    const SET_ID: u32 = 0o6000;
    let own = root.host_path("/proc/self/exe");
    let mode = own.metadata().map(|metadata| metadata.mode());
    !mode.is_ok_and(|mode| mode & SET_ID == 0) || sys::has_file_capabilities(&own)
}
