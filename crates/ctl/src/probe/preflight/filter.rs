//! What falls short under a filter of system calls.

use hugetools_contract::env::{Fallback, Pages};
use hugetools_model::Bytes;

use super::Needs;
use crate::caller::filter::{Answer, Filter, STATUS};
use crate::probe::kernel::{Kernel, Wants};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// What keeps copies of text and data from their places.
pub(super) fn of_copies(wants: Wants, needs: Needs, kernel: &Kernel) -> Option<Shortfall> {
    let comes_to_thp = |pages| {
        let comes = kernel.comes_to_thp(pages, needs.text, wants.fallback);
        comes || kernel.filter.bars_files()
    };
    let (has_text, has_data) = (needs.text > Bytes::default(), needs.data > Bytes::default());
    let is_text = has_text && wants.text.is_some_and(comes_to_thp);
    let subject = Subject {
        data: has_data && wants.data.is_some() && kernel.bars_copies(Subject::DATA),
        text: is_text && kernel.bars_copies(Subject::TEXT),
        ..Subject::NONE
    };
    let stays = match (subject.data, subject.text) {
        (false, false) => return None,
        (true, false) => "data stays on base pages",
        (false, true) => {
            "text stays on base pages where it is not on pages of a pool or of its file"
        }
        (true, true) => {
            "data stays on base pages, and text where it is not on pages of a pool or of its file"
        }
    };
    let filter = &kernel.filter;
    let (answer, call, what) = match filter.mremap {
        Answer::Allowed => (
            filter.mprotect,
            "mprotect",
            "no copy on huge pages can be executed",
        ),
        answer => (
            answer,
            "mremap",
            "what is copied to huge pages cannot be put in its place",
        ),
    };
    let short = short(filter, subject, answer, call)?;
    Some(short.then(format!("{what}: {stays}")))
}

/// What keeps text from pages of a pool.
pub(super) fn of_files(wants: Wants, needs: Needs, kernel: &Kernel) -> Option<Shortfall> {
    let is_asked = wants.text.is_some_and(|pages| pages != Pages::Thp);
    let filter = &kernel.filter;
    if !is_asked || needs.text == Bytes::default() || !filter.bars_files() {
        return None;
    }
    let (answer, call) = match filter.memory_file {
        Answer::Allowed => (filter.truncate, "ftruncate"),
        answer => (answer, "memfd_create"),
    };
    let next = match kernel.serves_private() && wants.fallback == Fallback::Thp {
        _ if kernel.bars_copies(Subject::TEXT) => "stays where it is",
        true => "goes to transparent huge pages",
        false => "stays on base pages",
    };
    let then = format!("text, which needs a file of a pool, {next}");
    short(filter, Subject::TEXT, answer, call).map(|short| short.then(then))
}

/// What is asked for, without what such a filter rules out altogether.
pub(super) fn without_copies(wants: Wants, kernel: &Kernel) -> Wants {
    let data = wants.data.filter(|_| !kernel.bars_copies(Subject::DATA));
    let text = match kernel.filter.bars_files() && wants.fallback == Fallback::Thp {
        true => wants.text.map(|_| Pages::Thp),
        false => wants.text.filter(|_| !kernel.filter.bars_files()),
    };
    Wants {
        data,
        text,
        ..wants
    }
}

/// What keeps memory from transparent huge pages.
pub(super) fn of_advice(kernel: &Kernel, subject: Subject) -> Option<Shortfall> {
    let (names, stay) = (subject.names(), subject.verb("stays", "stay"));
    let then = format!("{names} {stay} on base pages");
    let filter = &kernel.filter;
    short(filter, subject, filter.madvise, "madvise").map(|short| short.then(then))
}

fn short(filter: &Filter, subject: Subject, answer: Answer, call: &str) -> Option<Shortfall> {
    let does = match answer {
        Answer::Allowed => return None,
        Answer::Refused => "refuses",
        Answer::Ends => "ends whoever calls",
    };
    let fact = format!("a filter of system calls (seccomp) {does} {call}");
    let advice = format!("start it without that filter, or allow {call} in it");
    let short = Shortfall::new(subject, fact).says(STATUS, filter.says());
    Some(short.advise(advice))
}
