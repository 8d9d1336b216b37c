//! What will fall short, said before the program starts: each time the fact,
//! its figure, the consequence and the command that mends it.

use hugetools_contract::env::{Fallback, Pages};
use hugetools_model::Bytes;
use hugetools_model::hugetlb::pool;
use hugetools_model::memory::sysctl;
use hugetools_model::process::cgroup::Limit;

use crate::probe::kernel::{
    Kernel, MayLock, NoPools, OVERCOMMIT, STATUS, Source, USEFUL, Wants, to_see,
};
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;
use asks::{Ask, asks};
use remedy::{remedy, shortage};

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
    /// Whether that private mappings get no transparent huge pages is among it.
    pub anon_told: bool,
    /// The same of stacks.
    pub stack_told: bool,
}

/// What text, and data with bss, take of the pages that are asked for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Needs {
    /// Whole pages of text that the file's own do not serve.
    pub text: Bytes,
    /// Whole pages of data and bss.
    pub data: Bytes,
    /// Whether the heap stays with the program's libc, which goes from a pool to base
    /// pages, whatever the fallback is.
    pub libc_heap: bool,
}

/// A copy of text takes its memory beside the original: the library makes one where it is
/// this much smaller than what other memory may take on transparent huge pages.
pub(crate) const COPY: u64 = 4;

/// Looks for what will fall short.
pub fn check(wants: Wants, needs: Needs, kernel: &Kernel) -> Checked {
    let text = needs.text.get().saturating_mul(COPY);
    let segments = text.saturating_add(needs.data.get());
    let mut check = Check {
        fallback: wants.fallback,
        strict: Subject::strict(wants.require),
        kernel,
        segments: Bytes::new(segments),
        libc_heap: needs.libc_heap,
        said: Checked::default(),
    };
    let of_files = filter::of_files(wants, needs, kernel);
    for short in of_files
        .into_iter()
        .chain(filter::of_copies(wants, needs, kernel))
    {
        check.note_told(short.subject);
        check.warn(short);
    }
    let wants = filter::without_copies(wants, kernel);
    let asks = asks(wants, needs, kernel);
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
    if let Some(pages) = wants.shm {
        check.group(pages);
        check.shm_limits(pages);
    }
    if let Some(limit) = &kernel.own_requests {
        check.said.notes.push(Note::info(own_requests(limit)));
    }
    if kernel.groups_hidden {
        check.said.notes.push(Note::info(GROUPS_HIDDEN.to_owned()));
    }
    check.said
}

/// What is said where no control group can be seen.
const GROUPS_HIDDEN: &str = "what the control groups of this process allow cannot be seen: no \
    cgroup file system is mounted (mount -t cgroup2 none /sys/fs/cgroup)";

/// What a limit means for huge pages that the program requests by itself.
fn own_requests(limit: &Limit) -> String {
    let rest = limit.rest().map_or_else(
        || "what the control group leaves".to_owned(),
        |rest| format!("the {rest} that the control group leaves"),
    );
    format!(
        "a request of the program's own for huge pages (MAP_HUGETLB, SHM_HUGETLB) beyond {rest} \
         fails with ENOMEM ({})",
        limit.file
    )
}

struct Check<'a> {
    fallback: Fallback,
    /// What fails rather than fall.
    strict: Subject,
    kernel: &'a Kernel,
    /// What segments take.
    segments: Bytes,
    libc_heap: bool,
    said: Checked,
}

impl Check<'_> {
    /// Says what falls short of a pool: of shared memory alone the library does, with
    /// the program's own figures, and only where there is some.
    fn warn_of(&mut self, short: Shortfall) {
        if short.subject == Subject::SHM {
            return self.hint(short);
        }
        self.note_told(short.subject);
        self.warn(short);
    }

    fn note_told(&mut self, subject: Subject) {
        self.said.heap_told |= subject.heap;
        self.said.anon_told |= subject.anon;
        self.said.stack_told |= subject.stack;
        self.said.segments_told |= subject.text || subject.data;
    }

    /// Says what keeps private memory from transparent huge pages: in the line that says
    /// what keeps it from the pool, where that is one line.
    fn warn_beside(&mut self, short: Shortfall) {
        let of_pool = self.said.notes.iter_mut().filter(|note| {
            let pool = note.shortfall.as_ref();
            note.level == Level::Warning
                && pool.is_some_and(|pool| pool.subject.meets(short.subject))
        });
        let mut of_pool: Vec<&mut Note> = of_pool.collect();
        match of_pool.as_mut_slice() {
            [note] if note.covers(short.subject) => note.and(short),
            _ => {
                self.note_told(short.subject);
                self.warn(short);
            }
        }
    }

    fn warn(&mut self, short: Shortfall) {
        self.said.notes.push(Note::short(Level::Warning, short));
    }

    /// What may be no matter to the program; the library warns of it where it
    /// is.
    fn hint(&mut self, short: Shortfall) {
        self.said.notes.push(Note::short(Level::Info, short));
    }

    fn comes_to_thp(&self, ask: &Ask) -> bool {
        let fallback = match self.strict.meets(ask.subject) {
            true => Fallback::None,
            false => self.fallback,
        };
        self.kernel.comes_to_thp(ask.pages, ask.enough(), fallback)
    }

    /// What there should be room for.
    fn least(&self, subject: Subject) -> Bytes {
        match subject.is_segments() {
            true => self.segments,
            false => self.segments.max(USEFUL),
        }
    }

    /// Whether the memory control group leaves room for whole huge pages.
    fn has_room(&self, subject: Subject) -> bool {
        self.kernel.has_room(self.least(subject))
    }

    /// What happens to what a pool cannot give.
    fn then(&self, ask: &Ask) -> String {
        let subject = ask.subject;
        if self.libc_heap && subject == Subject::HEAP {
            return "the heap goes to base pages".to_owned();
        }
        // Shared memory is of one pool.
        let second = self.kernel.second(ask.pages).filter(|_| !subject.shm);
        let to = |served: bool| match served && self.fallback == Fallback::Thp {
            true => "transparent huge pages",
            false => "base pages",
        };
        if self.strict.meets(subject) && second.is_none() {
            return "requests beyond it fail (--require)".to_owned();
        }
        if self.fallback == Fallback::None && second.is_none() {
            return match subject.is_segments() {
                true => format!(
                    "{} {} (--fallback=none)",
                    subject.names(),
                    subject.verb("stays as it is", "stay as they are")
                ),
                false => "requests beyond it fail (--fallback=none)".to_owned(),
            };
        }
        let has_room = self.has_room(subject);
        let is_barred = subject.is_segments() && self.kernel.bars_copies(subject);
        let private = match second {
            Some(source) => format!("{} pages", source.pool.size),
            None => to(self.kernel.serves_private() && has_room && !is_barred).to_owned(),
        };
        let shm = to(self.kernel.serves_shared());
        let goes = |subject: Subject, to: &str| {
            format!("{} {} to {to}", subject.names(), subject.verb("goes", "go"))
        };
        match subject.private() {
            Subject::NONE => goes(subject, shm),
            others if !subject.shm => goes(others, &private),
            _ if private == shm => goes(subject, &private),
            others => format!("{}, shared memory to {shm}", goes(others, &private)),
        }
    }

    fn pool(&mut self, ask: &Ask) {
        if ask.pages == Pages::Thp {
            return;
        }
        let (subject, enough) = (ask.subject, ask.enough());
        let then = self.then(ask);
        let Some(source) = self.kernel.source(ask.pages) else {
            let none = self.kernel.no_pools.unwrap_or(NoPools::Absent);
            let short = Shortfall::new(subject, none.to_string()).then(then);
            let short = match none {
                NoPools::Absent => short.says(pool::dir(), "absent"),
                NoPools::Hidden(hidden) => {
                    let short = short.says(hidden.path(), hidden.value());
                    short.mend("to see it", hidden.to_see())
                }
            };
            return match subject == Subject::SHM {
                // There, the library does not even ask.
                true => self.warn(short),
                false => self.warn_of(short),
            };
        };
        let (available, size) = (source.available(), source.pool.size);
        if available < enough.min(Bytes::new(size.get())) {
            let fact = format!("the pool of {size} pages {}", shortage(source));
            self.warn_of(remedy(
                Shortfall::new(subject, fact).then(&then),
                source,
                ask.enough(),
            ));
        } else if available < enough {
            let (pages, _) = available.pages(size);
            let fact = format!("the pool of {size} pages has {pages} pages ({available}) left");
            let short = Shortfall::new(subject, fact).then(beyond(subject, &then));
            self.warn_of(remedy(short, source, ask.enough()));
        }
        self.control_group(ask, source, &then);
    }

    fn control_group(&mut self, ask: &Ask, source: &Source, then: &str) {
        let Some(limit) = &source.limit else {
            return;
        };
        let file = &limit.file;
        let Some(rest) = limit.rest() else {
            return self.warn_of(untold(ask.subject, limit));
        };
        let fact = format!(
            "the control group allows {rest} more of {} pages",
            source.pool.size
        );
        let is_enough = ask.subject.is_segments() && ask.needs <= rest;
        if rest >= source.available().max(ask.enough()) || is_enough {
            return self.said.notes.push(Note::info(format!("{fact} ({file})")));
        }
        let unlimited = match file.as_str().ends_with("limit_in_bytes") {
            true => "-1",
            false => "max",
        };
        let short = Shortfall::new(ask.subject, fact).then(beyond(ask.subject, then));
        let short = short.mend("to lift it", format!("echo {unlimited} > {file}"));
        self.warn_of(short.says(file, limit.limit.get()));
    }

    fn limits(&mut self) {
        if let Some(limit) = self.kernel.address_space {
            let fact = format!("the address space is limited to {limit} (ulimit -v)");
            let short = Shortfall::new(Subject::HEAP, fact)
                .then("huge pages need more of it than base pages")
                .says(
                    "/proc/self/limits",
                    format!("Max address space: {}", limit.get()),
                );
            self.warn(short.mend("to lift it", "ulimit -v unlimited"));
        }
        if self.kernel.overcommit == Some(2) {
            let fact = "memory is not overcommitted (vm.overcommit_memory is 2)";
            let short = Shortfall::new(Subject::HEAP, fact)
                .then("the heap may get less than asked")
                .says(OVERCOMMIT, 2);
            self.warn(short.mend("to change it", "sysctl vm.overcommit_memory=0"));
        }
    }

    /// Only for programs that use `shmget`, which cannot be known beforehand;
    /// the library says it again when one really falls short.
    fn group(&mut self, pages: Pages) {
        let source = self.kernel.source(pages);
        if source.is_none_or(|source| source.available() == Bytes::default()) {
            return;
        }
        let file = sysctl::shm_group_path();
        let short = |fact| Shortfall::new(Subject::SHM, fact);
        let refuses = "should the program use shmget, the kernel refuses it pool pages";
        let mend = |group: &str| format!("hugeadm --set-shm-group {group}");
        match &self.kernel.may_lock {
            MayLock::Yes => {}
            MayLock::Group {
                group,
                now: Some(now),
            } => {
                let short = short(refuses).says(file, now);
                self.hint(short.mend("to allow them", mend(group)));
            }
            MayLock::Group { now: None, .. } => self.hint(short(refuses).says(file, "absent")),
            MayLock::Unknown => {
                let fact = "should the program use shmget, whether the kernel gives it pool pages \
                            cannot be told before";
                self.hint(
                    short(fact)
                        .says(STATUS, "absent")
                        .mend("to see it", to_see(STATUS)),
                );
            }
        }
    }
}

/// What happens beyond some pages. Of shared memory the kernel promises the pages of a
/// mapping or segment whole, or refuses it whole.
fn beyond(subject: Subject, then: &str) -> String {
    if subject == Subject::SHM {
        return match then.strip_prefix("requests beyond it fail") {
            Some(why) => format!("a mapping or segment of more fails{why}"),
            None => format!("a mapping or segment of more gets none of them, {then}"),
        };
    }
    match then.strip_prefix("requests beyond it ") {
        Some(then) => format!("requests beyond them {then}"),
        None => format!("beyond them, {then}"),
    }
}

/// A limit of which it cannot be told how much is left.
fn untold(subject: Subject, limit: &Limit) -> Shortfall {
    let fact = format!("what is used of {} cannot be read", limit.file);
    let short = Shortfall::new(subject, fact).says(&limit.file, limit.limit.get());
    short.then("how many huge pages it leaves cannot be told")
}

mod asks;
mod filter;
pub(crate) mod remedy;
mod shm_limits;
#[cfg(test)]
mod tests;
mod transparent;
