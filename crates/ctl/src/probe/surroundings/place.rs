//! Where this runs: in a container, commands that change the machine are
//! refused, whoever gives them.

use hugetools_model::mount::{self, mounted_at};
use hugetools_model::{FileError, Root};
use std::path::Path;

use crate::probe::kernel::namespace::user_namespace;
use crate::say::note::Note;

/// What is to be known of commands that mend something.
pub(super) fn look(root: &Root) -> Result<Vec<Note>, FileError> {
    let mut notes = Vec::new();
    if let Some(map) = user_namespace(root)? {
        notes.push(Note::warning(format!(
            "this is a user namespace (/proc/self/uid_map: {map}): what changes the machine must be \
             done outside of it, as root"
        )));
    }
    let mounts = mount::read(root)?;
    for place in ["/sys", "/proc/sys"] {
        let mount = mounted_at(&mounts, Path::new(place));
        let is_read_only = |mount: &mount::Mount| mount.options.split(',').any(|o| o == "ro");
        if mount.is_some_and(is_read_only) {
            notes.push(Note::warning(format!(
                "{place} is mounted read-only (/proc/self/mountinfo): what changes it must be done \
                 on the host"
            )));
        }
    }
    Ok(notes)
}
