//! Filters of system calls (`seccomp(2)`) that are in force.

use crate::caller::Caller;
use crate::caller::filter::STATUS;
use crate::say::note::Note;

/// What is left out under one, whatever it lets through.
pub(super) fn note(caller: &Caller) -> Option<Note> {
    let filter = caller.filter;
    (filter.is_there && filter.is_told).then(|| {
        Note::info(format!(
            "a filter of system calls is in force ({STATUS}, Seccomp: 2): what the program's own \
             malloc would not do is left out"
        ))
    })
}
