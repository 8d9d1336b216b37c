//! What is asked for, by the pages that it is to come from.

use hugetools_contract::env::Pages;
use hugetools_model::Bytes;

use super::Needs;
use crate::probe::kernel::{Kernel, USEFUL, Wants};
use crate::say::subject::Subject;

/// Memory that is to come from the same pages.
pub(super) struct Ask {
    pub(super) pages: Pages,
    pub(super) subject: Subject,
    /// What it takes, as far as it is known.
    pub(super) needs: Bytes,
}

impl Ask {
    /// What a pool should have.
    pub(super) fn enough(&self) -> Bytes {
        match self.subject.is_segments() {
            true => self.needs,
            // It will take more than is known.
            false => Bytes::new(self.needs.get().saturating_add(USEFUL.get())),
        }
    }
}

/// What is asked for, that of the same pages together. Shared memory stands apart where
/// the library speaks of it: where there is a pool.
pub(super) fn asks(wants: Wants, needs: Needs, kernel: &Kernel) -> Vec<Ask> {
    let zero = Bytes::default();
    let of_segment = |pages: Option<Pages>, needs: Bytes| pages.filter(|_| needs > zero);
    let heap = Subject {
        past_malloc: wants.past_malloc,
        ..Subject::HEAP
    };
    let all = [
        (wants.heap, heap, zero),
        (wants.shm, Subject::SHM, zero),
        (wants.anon.map(|_| Pages::Thp), Subject::ANON, zero),
        (wants.stack.map(|_| Pages::Thp), Subject::STACK, zero),
        (
            of_segment(wants.text, needs.text),
            Subject::TEXT,
            needs.text,
        ),
        (
            of_segment(wants.data, needs.data),
            Subject::DATA,
            needs.data,
        ),
    ];
    let mut asks: Vec<Ask> = Vec::new();
    for (pages, subject, needs) in all {
        let Some(pages) = pages else { continue };
        // What must not fall goes another way.
        let is_strict = |subject: Subject| Subject::strict(wants.require).meets(subject);
        let is_spoken_of = kernel.source(pages).is_some();
        let same = |ask: &&mut Ask| {
            ask.pages == pages
                && is_strict(ask.subject) == is_strict(subject)
                && !(is_spoken_of && ask.subject.shm != subject.shm)
        };
        match asks.iter_mut().find(same) {
            Some(ask) => {
                ask.subject = ask.subject | subject;
                ask.needs = Bytes::new(ask.needs.get().saturating_add(needs.get()));
            }
            None => asks.push(Ask {
                pages,
                subject,
                needs,
            }),
        }
    }
    asks
}
