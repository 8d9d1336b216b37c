//! What will fall short, said before the program starts: each time the fact,
//! its figure, the consequence and the command that mends it.

mod subject;

use hugetools_contract::env::{Fallback, Pages};
use hugetools_model::Bytes;
use hugetools_model::list::format_list;

use crate::kernel::{Kernel, SETTINGS, Source, USEFUL, Wants};
use crate::note::Note;
pub(crate) use subject::Subject;

/// What is to be said about the request on this machine.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// What is said.
    pub notes: Vec<Note>,
    /// Whether that the heap will not have enough pages of a pool is among it,
    /// so that the library need not say it again.
    pub heap_told: bool,
    /// The same of text, or data and bss.
    pub segments_told: bool,
}

/// What text, and data with bss, take of the pages that are asked for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// Whole pages of text that the file's own do not serve.
    pub text: Bytes,
    /// Whole pages of data and bss.
    pub data: Bytes,
}

/// Looks for what will fall short.
pub fn check(wants: Wants, needs: Needs, kernel: &Kernel) -> Checked {
    let mut check = Check {
        fallback: wants.fallback,
        kernel,
        said: Checked::default(),
    };
    let asks = asks(wants, needs);
    asks.iter().for_each(|ask| check.pool(ask));
    let on_thp = asks.iter().filter(|ask| check.comes_to_thp(ask));
    let on_thp = on_thp.fold(Subject::NONE, |all, ask| all | ask.subject);
    if !on_thp.private().is_none() {
        check.private_thp(on_thp.private());
    }
    if on_thp.shm {
        check.shared_thp();
    }
    if wants.heap.is_some() {
        check.limits();
    }
    if let (Some(group), Some(pages)) = (&kernel.shm_group, wants.shm) {
        check.group(group, pages);
    }
    check.said
}

/// Memory that is to come from the same pages.
struct Ask {
    pages: Pages,
    subject: Subject,
    /// What it takes, as far as it is known.
    needs: Bytes,
}

impl Ask {
    /// What a pool should have.
    fn enough(&self) -> Bytes {
        match self.subject.is_segments() {
            true => self.needs,
            // It will take more than is known.
            false => USEFUL.max(self.needs),
        }
    }
}

/// What is asked for, that of the same pages together.
fn asks(wants: Wants, needs: Needs) -> Vec<Ask> {
    let zero = Bytes::default();
    let of_segment = |pages: Option<Pages>, needs: Bytes| pages.filter(|_| needs > zero);
    let all = [
        (wants.heap, Subject::HEAP, zero),
        (wants.shm, Subject::SHM, zero),
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
        match asks.iter_mut().find(|ask| ask.pages == pages) {
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

struct Check<'a> {
    fallback: Fallback,
    kernel: &'a Kernel,
    said: Checked,
}

impl Check<'_> {
    fn warn_of(&mut self, subject: Subject, text: String) {
        self.said.heap_told |= subject.heap;
        self.said.segments_told |= subject.text || subject.data;
        self.warn(text);
    }

    fn warn(&mut self, text: String) {
        self.said.notes.push(Note::warning(text));
    }

    fn comes_to_thp(&self, ask: &Ask) -> bool {
        self.kernel
            .comes_to_thp(ask.pages, ask.enough(), self.fallback)
    }

    /// What happens to what a pool cannot give.
    fn then(&self, subject: Subject) -> String {
        let to = |served: bool| match served && self.fallback == Fallback::Thp {
            true => "transparent huge pages",
            false => "base pages",
        };
        if self.fallback == Fallback::None {
            return match subject.is_segments() {
                true => format!(
                    "{} {} on base pages (--fallback=none)",
                    subject.names(),
                    subject.verb("stays", "stay")
                ),
                false => "requests beyond it fail (--fallback=none)".to_owned(),
            };
        }
        let private = to(self.kernel.serves_private());
        let shm = to(self.kernel.serves_shared());
        let goes = |subject: Subject, to| {
            format!("{} {} to {to}", subject.names(), subject.verb("goes", "go"))
        };
        match subject.private() {
            Subject::NONE => goes(subject, shm),
            others if !subject.shm => goes(others, private),
            _ if private == shm => goes(subject, private),
            others => format!("{}, shared memory to {shm}", goes(others, private)),
        }
    }

    fn pool(&mut self, ask: &Ask) {
        if ask.pages == Pages::Thp {
            return;
        }
        let (subject, enough) = (ask.subject, ask.enough());
        let then = self.then(subject);
        let Some(source) = self.kernel.source(ask.pages) else {
            return self.warn_of(
                subject,
                format!("this machine has no huge page pools: {then}"),
            );
        };
        let (available, size) = (source.available(), source.pool.size);
        if available < enough.min(Bytes::new(size.get())) {
            let why = shortage(source);
            let remedy = remedy(source, ask);
            let text = format!("the pool of {size} pages {why}: {then}; {remedy}");
            self.warn_of(subject, text);
        } else if available < enough {
            let (pages, _) = available.pages(size);
            let remedy = remedy(source, ask);
            let text = format!(
                "the pool of {size} pages has {pages} pages ({available}) left: beyond them, {then}; {remedy}"
            );
            self.warn_of(subject, text);
        }
        self.control_group(ask, source, &then);
    }

    fn control_group(&mut self, ask: &Ask, source: &Source, then: &str) {
        let Some(limit) = &source.limit else {
            return;
        };
        let (rest, file) = (limit.rest(), &limit.file);
        let text = format!(
            "the control group allows {rest} more of {} pages",
            source.pool.size
        );
        let is_enough = ask.subject.is_segments() && ask.needs <= rest;
        match rest < source.available() && !is_enough {
            true => self.warn_of(
                ask.subject,
                format!("{text}: beyond them, {then}; to lift it: echo max > {file}"),
            ),
            false => self.said.notes.push(Note::info(format!("{text} ({file})"))),
        }
    }

    fn private_thp(&mut self, subject: Subject) {
        let (names, stay) = (subject.names(), subject.verb("stays", "stay"));
        let Some(thp) = &self.kernel.thp else {
            if self.kernel.thp_hidden {
                return self.hidden_thp();
            }
            return self.warn(format!(
                "this kernel has no transparent huge pages: {names} {stay} on base pages"
            ));
        };
        if !thp.serves_madvise() {
            let word = thp.enabled.as_deref().unwrap_or("never");
            self.warn(format!(
                "transparent huge pages are set to {word}: {names} {stay} on base pages; to have \
                 them: hugeadm --thp-madvise"
            ));
        } else if self.kernel.thp_disabled {
            self.warn(format!(
                "transparent huge pages are switched off for this process and its children \
                 (prctl PR_SET_THP_DISABLE): {names} {stay} on base pages; start it from elsewhere"
            ));
        }
    }

    /// Once for all that is asked for.
    fn hidden_thp(&mut self) {
        let note = Note::warning(format!(
            "{SETTINGS} is not there: transparent huge pages are asked for, but whether they come \
             cannot be told before; to see it: mount -t sysfs sysfs /sys"
        ));
        if !self.said.notes.contains(&note) {
            self.said.notes.push(note);
        }
    }

    fn shared_thp(&mut self) {
        let Some(thp) = &self.kernel.thp else {
            if self.kernel.thp_hidden {
                return self.hidden_thp();
            }
            return self.warn(
                "this kernel has no transparent huge pages: shared memory stays on base pages"
                    .to_owned(),
            );
        };
        if !thp.serves_shared_madvise() {
            let word = thp.shmem_enabled.as_deref().unwrap_or("never");
            // The library warns of it where there is such memory.
            self.said.notes.push(Note::info(format!(
                "transparent huge pages for shared memory are set to {word}: it stays on base \
                 pages; to have them: hugeadm --thp-shmem advise"
            )));
        }
    }

    fn limits(&mut self) {
        if let Some(limit) = self.kernel.address_space {
            self.warn(format!(
                "the address space is limited to {limit} (ulimit -v): huge pages need more of it \
                 than base pages; to lift it: ulimit -v unlimited"
            ));
        }
        if self.kernel.overcommit == Some(2) {
            self.warn(
                "memory is not overcommitted (vm.overcommit_memory is 2): the heap may get less \
                 than asked; to change it: sysctl vm.overcommit_memory=0"
                    .to_owned(),
            );
        }
    }

    /// Only for programs that use `shmget`, which cannot be known beforehand;
    /// the library says it again when one really falls short.
    fn group(&mut self, group: &str, pages: Pages) {
        let has_pages = self
            .kernel
            .source(pages)
            .is_some_and(|s| s.available() > Bytes::default());
        if has_pages {
            self.said.notes.push(Note::info(format!(
                "should the program use shmget, the kernel refuses it pool pages; to allow them: \
                 hugeadm --set-shm-group {group}"
            )));
        }
    }
}

fn shortage(source: &Source) -> String {
    let pool = &source.pool;
    match (pool.total.get(), &source.share) {
        (0, _) => "is empty".to_owned(),
        (total, Some(share)) if pool.available() > share.free => format!(
            "has no page left on {} {}, which this process is bound to ({total} in all)",
            if share.nodes.len() == 1 {
                "node"
            } else {
                "nodes"
            },
            format_list(&share.nodes)
        ),
        (total, _) => format!(
            "has no page left ({total} in all, {} free, {} of them reserved)",
            pool.free, pool.reserved
        ),
    }
}

/// The command that makes the pool large enough. What segments take is known,
/// what a heap or shared memory will take is not.
fn remedy(source: &Source, ask: &Ask) -> String {
    let size = source.pool.size;
    let nodes = source
        .share
        .as_ref()
        .map(|share| format!("@{}", format_list(&share.nodes)));
    let nodes = nodes.unwrap_or_default();
    let command = format!("to fill it: hugeadm --pool-pages-min {size}{nodes}");
    if !ask.subject.is_segments() {
        return format!("{command}:+N, as many as the program takes");
    }
    let short = ask.needs.get().saturating_sub(source.available().get());
    format!("{command}:+{}", short.div_ceil(size.get()).max(1))
}

#[cfg(test)]
mod tests;
