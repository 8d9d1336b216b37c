//! What only `--explain` looks at, since it would cost every start: mounts for
//! shared text, filters of system calls, places where a command that mends
//! something would not be allowed.

mod filter;
mod own_pool;
mod place;
mod share;

use hugetools_contract::env::Pages;
use hugetools_model::{Bytes, FileError, Root};

use crate::caller::Caller;
use crate::probe::command_line::known_programs::entry::Entry;
use crate::probe::kernel::{Kernel, Wants};
use crate::request::Run;
use crate::say::note::Note;

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Surroundings {
    /// What there is to say.
    pub notes: Vec<Note>,
}

/// What the look depends on.
pub(crate) struct Scene<'a> {
    pub(crate) run: &'a Run,
    pub(crate) caller: &'a Caller,
    pub(crate) root: &'a Root,
    pub(crate) kernel: &'a Kernel,
    pub(crate) served: Wants,
    /// What text takes of other pages than the file's own.
    pub(crate) needs: Bytes,
    /// What is known of the program.
    pub(crate) known: Option<&'a Entry>,
}

/// Looks.
///
/// # Errors
/// When a file that exists cannot be read.
pub(crate) fn look(scene: &Scene<'_>) -> Result<Surroundings, FileError> {
    let mut found = Surroundings::default();
    let asked = scene.served.text.filter(|pages| *pages != Pages::Thp);
    let size = asked.and_then(|pages| scene.kernel.size(pages));
    let is_shared = scene.run.segments.share_text && scene.needs > Bytes::default();
    if let (Some(size), true) = (size, is_shared) {
        found.notes.extend(share::look(scene, size)?);
    }
    found.notes.extend(own_pool::look(scene)?);
    if scene.root.is_live() {
        found.notes.extend(filter::note(scene.caller));
        found.notes.extend(place::look(scene.root)?);
    }
    Ok(found)
}
