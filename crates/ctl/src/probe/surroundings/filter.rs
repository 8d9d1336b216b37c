//! Filters of system calls (`seccomp(2)`): whether they let memory be moved.

use hugetools_contract::env::{Fallback, Pages};
use hugetools_model::{FileError, KPath, keyed};

use super::{Scene, Surroundings};
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;
use crate::sys::{self, Moving};

const STATUS: &str = "/proc/self/status";

/// Tries, in a process of its own, what a start would do.
pub(super) fn look(scene: &Scene<'_>, found: &mut Surroundings) -> Result<(), FileError> {
    let status = scene.root.read_opt(&KPath::from(STATUS))?;
    // Where that is hidden, trying tells.
    let mode = status
        .as_deref()
        .map(|text| keyed::value(text, b"Seccomp:"));
    if mode.is_some_and(|mode| mode.is_none_or(|mode| mode == b"0")) {
        return Ok(());
    }
    let moving = sys::may_move_memory();
    if moving == Moving::Allowed {
        let told = mode.map(|_| {
            Note::info(format!(
                "a filter of system calls is in force ({STATUS}, Seccomp: 2): what the program's \
                 own malloc would not do is left out"
            ))
        });
        found.notes.extend(told);
        return Ok(());
    }
    found.no_mremap = true;
    let served = scene.served;
    let to_thp = |pages: Option<Pages>| {
        pages == Some(Pages::Thp) || pages.is_some() && served.fallback == Fallback::Thp
    };
    let mut subject = Subject::NONE;
    if served.data.is_some() {
        subject = subject | Subject::DATA;
    }
    if to_thp(served.text) {
        subject = subject | Subject::TEXT;
    }
    if !subject.is_none() {
        let (fact, then) = words(moving);
        let short = Shortfall::new(subject, fact).then(then);
        let short = match mode {
            Some(_) => short.says(STATUS, "Seccomp: 2"),
            None => short.says(STATUS, "absent"),
        };
        let short = short.advise("start it without that filter, or allow mremap in it");
        found.notes.push(Note::short(Level::Warning, short));
    }
    Ok(())
}

/// What such a filter does, and what follows.
fn words(moving: Moving) -> (&'static str, &'static str) {
    match moving {
        Moving::Ends => (
            "a filter of system calls (seccomp) ends whoever calls mremap",
            "what is copied to huge pages is put in its place by that call: the program does not \
             begin, unless all of that is on pages of its file",
        ),
        _ => (
            "a filter of system calls (seccomp) refuses mremap",
            "what is copied to huge pages cannot be put in its place: data stays on base pages, \
             and text where it is not on pages of a pool or of its file",
        ),
    }
}
