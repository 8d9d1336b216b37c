//! What will fall short, said before the program starts: each time the fact,
//! its figure, the consequence and the command that mends it.

use hugetools_contract::env::{Fallback, Pages};
use hugetools_model::Bytes;
use hugetools_model::list::format_list;

use crate::kernel::{Kernel, Source, USEFUL, Wants};
use crate::note::Note;

/// How much a remedy suggests.
const SUGGESTED: Bytes = Bytes::new(1 << 30);

/// What is to be said about the request on this machine.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// What is said.
    pub notes: Vec<Note>,
    /// Whether that the heap will not have enough pages of a pool is among it,
    /// so that the library need not say it again.
    pub heap_told: bool,
}

/// Looks for what will fall short.
pub fn check(wants: Wants, kernel: &Kernel) -> Checked {
    let mut check = Check {
        fallback: wants.fallback,
        kernel,
        said: Checked::default(),
    };
    let (heap, shm) = (wants.heap, wants.shm);
    match (heap, shm) {
        (Some(pages), Some(same)) if pages == same => check.pool(Subject::Both, pages),
        _ => {
            heap.into_iter()
                .for_each(|pages| check.pool(Subject::Heap, pages));
            shm.into_iter()
                .for_each(|pages| check.pool(Subject::Shm, pages));
        }
    }
    if heap.is_some_and(|pages| kernel.comes_to_thp(pages, wants.fallback)) {
        check.private_thp();
    }
    if shm.is_some_and(|pages| kernel.comes_to_thp(pages, wants.fallback)) {
        check.shared_thp();
    }
    if heap.is_some() {
        check.limits();
    }
    if let (Some(group), Some(pages)) = (&kernel.shm_group, shm) {
        check.group(group, pages);
    }
    check.said
}

/// Whose pages are spoken of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Subject {
    Heap,
    Shm,
    Both,
}

struct Check<'a> {
    fallback: Fallback,
    kernel: &'a Kernel,
    said: Checked,
}

impl Check<'_> {
    fn warn_of(&mut self, subject: Subject, text: String) {
        self.said.heap_told |= subject != Subject::Shm;
        self.warn(text);
    }

    fn warn(&mut self, text: String) {
        self.said.notes.push(Note::warning(text));
    }

    /// What happens to what a pool cannot give.
    fn then(&self, subject: Subject) -> String {
        let to = |served: bool| match served && self.fallback == Fallback::Thp {
            true => "transparent huge pages",
            false => "base pages",
        };
        if self.fallback == Fallback::None {
            return "requests beyond it fail (--fallback=none)".to_owned();
        }
        let heap = to(self.kernel.serves_private());
        let shm = to(self.kernel.serves_shared());
        match subject {
            Subject::Heap => format!("the heap goes to {heap}"),
            Subject::Shm => format!("shared memory goes to {shm}"),
            Subject::Both if heap == shm => format!("heap and shared memory go to {heap}"),
            Subject::Both => format!("the heap goes to {heap}, shared memory to {shm}"),
        }
    }

    fn pool(&mut self, subject: Subject, pages: Pages) {
        if pages == Pages::Thp {
            return;
        }
        let then = self.then(subject);
        let Some(source) = self.kernel.source(pages) else {
            return self.warn_of(
                subject,
                format!("this machine has no huge page pools: {then}"),
            );
        };
        let (available, size) = (source.available(), source.pool.size);
        if available < USEFUL.min(Bytes::new(size.get())) {
            let why = shortage(source);
            let remedy = remedy(source);
            let text = format!("the pool of {size} pages {why}: {then}; {remedy}");
            self.warn_of(subject, text);
        } else if available < USEFUL {
            let (pages, _) = available.pages(size);
            let remedy = remedy(source);
            let text = format!(
                "the pool of {size} pages has {pages} pages ({available}) left: beyond them, {then}; {remedy}"
            );
            self.warn_of(subject, text);
        }
        self.control_group(subject, source, &then);
    }

    fn control_group(&mut self, subject: Subject, source: &Source, then: &str) {
        let Some(limit) = &source.limit else {
            return;
        };
        let (rest, file) = (limit.rest(), &limit.file);
        let text = format!(
            "the control group allows {rest} more of {} pages",
            source.pool.size
        );
        match rest < source.available() {
            true => self.warn_of(
                subject,
                format!("{text}: beyond them, {then}; to lift it: echo max > {file}"),
            ),
            false => self.said.notes.push(Note::info(format!("{text} ({file})"))),
        }
    }

    fn private_thp(&mut self) {
        const FILE: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
        let Some(thp) = &self.kernel.thp else {
            return self.warn(
                "this kernel has no transparent huge pages: the heap stays on base pages"
                    .to_owned(),
            );
        };
        if !thp.serves_madvise() {
            let word = thp.enabled.as_deref().unwrap_or("never");
            self.warn(format!(
                "transparent huge pages are set to {word}: the heap stays on base pages; to have \
                 them: echo madvise > {FILE}"
            ));
        } else if self.kernel.thp_disabled {
            self.warn(
                "transparent huge pages are switched off for this process and its children \
                 (prctl PR_SET_THP_DISABLE): the heap stays on base pages; start it from elsewhere"
                    .to_owned(),
            );
        }
    }

    fn shared_thp(&mut self) {
        const FILE: &str = "/sys/kernel/mm/transparent_hugepage/shmem_enabled";
        let Some(thp) = &self.kernel.thp else {
            return self.warn(
                "this kernel has no transparent huge pages: shared memory stays on base pages"
                    .to_owned(),
            );
        };
        if !thp.serves_shared_madvise() {
            let word = thp.shmem_enabled.as_deref().unwrap_or("never");
            self.warn(format!(
                "transparent huge pages for shared memory are set to {word}: it stays on base \
                 pages; to have them: echo advise > {FILE}"
            ));
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

fn remedy(source: &Source) -> String {
    let size = source.pool.size;
    let pages = (SUGGESTED.get() / size.get()).max(1);
    let nodes = source
        .share
        .as_ref()
        .map(|share| format!("@{}", format_list(&share.nodes)));
    let nodes = nodes.unwrap_or_default();
    format!("to fill it: hugeadm --pool-pages-min {size}{nodes}:+{pages}")
}

#[cfg(test)]
mod tests;
