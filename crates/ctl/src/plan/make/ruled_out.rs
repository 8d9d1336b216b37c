//! Transparent huge pages that are asked for and ruled out at once.

use hugetools_contract::env::{Fallback, Pages};
use hugetools_model::Bytes;

use crate::probe::Findings;
use crate::probe::heap_engine::Engine;
use crate::probe::kernel::Wants;
use crate::probe::preflight::Needs;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// What gets none for it.
pub(super) fn by_fallback(findings: &Findings, needs: Needs) -> Vec<Shortfall> {
    let (served, zero) = (&findings.served, Bytes::default());
    let by_libc = findings.decision.engine == Engine::Libc;
    if served.fallback != Fallback::Base {
        return Vec::new();
    }
    let all = [
        ("--heap", Subject::HEAP, served.heap.filter(|_| !by_libc)),
        ("--shm", Subject::SHM, served.shm),
        ("--anon", Subject::ANON, served.anon),
        ("--stack", Subject::STACK, served.stack),
        // What lies on huge pages of the file itself needs no others.
        (
            "--text",
            Subject::TEXT,
            served.text.filter(|_| needs.text > zero),
        ),
        (
            "--data",
            Subject::DATA,
            served.data.filter(|_| needs.data > zero),
        ),
    ];
    let ruled_out = all
        .into_iter()
        .filter(|(_, _, pages)| *pages == Some(Pages::Thp));
    ruled_out
        .map(|(option, subject, _)| {
            let short = Shortfall::new(subject, "--fallback=base rules transparent ones out");
            short.outcome(format!("{option}=thp gets no huge page"))
        })
        .collect()
}

/// What is asked for without them, so that nothing else is said of it.
pub(super) fn without(wants: Wants, ruled_out: &[Shortfall]) -> Wants {
    let is_left = |subject: Subject| ruled_out.iter().all(|short| short.subject != subject);
    Wants {
        heap: wants.heap.filter(|_| is_left(Subject::HEAP)),
        shm: wants.shm.filter(|_| is_left(Subject::SHM)),
        anon: wants.anon.filter(|_| is_left(Subject::ANON)),
        stack: wants.stack.filter(|_| is_left(Subject::STACK)),
        text: wants.text.filter(|_| is_left(Subject::TEXT)),
        data: wants.data.filter(|_| is_left(Subject::DATA)),
        ..wants
    }
}
