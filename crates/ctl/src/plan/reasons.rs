//! Writes a sentence for each reason: fact, file and value, consequence, remedy. The text of every
//! shortfall of the ladder, in `--explain` and in warnings before a start, comes from here.

use std::collections::BTreeMap;

use hugetools_contract::env::Fallback;
use hugetools_contract::ladder::{NoThp, Reason, Rest, Rung};
use hugetools_model::hugetlb::pool;
use hugetools_model::memory::sysctl;
use hugetools_model::process::cgroup::Limit;
use hugetools_model::{Bytes, PageSize, thp};

use super::prediction::{Prediction, ShortSegments};
use crate::caller::filter::STATUS;
use crate::probe::kernel::{Kernel, OVERCOMMIT, Source, Wants};
use crate::say::note::{Level, Note};
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

pub(super) struct Sentences<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) served: Wants,
    /// The pages that each pool lacks, see [`Prediction`].
    pub(super) missing: &'a BTreeMap<u64, u64>,
    /// The limit of a process, as the user gave it.
    pub(super) limit: String,
}

impl Sentences<'_> {
    pub(super) fn notes(&self, prediction: &Prediction) -> Vec<Note> {
        let level = |short: &ShortSegments| match short.is_certain() {
            true => Level::Warning,
            false => Level::Info,
        };
        let ladder = prediction.short_segments.iter();
        let ladder = ladder.map(|short| (level(short), self.sentence(short)));
        let hidden = self.hidden_thp(prediction.on_thp);
        let heap = self.heap_limits().into_iter().chain(hidden);
        let heap = heap.map(|short| (Level::Warning, short));
        let group = self.shm_group().map(|short| (Level::Info, short));
        let all = ladder.chain(heap).chain(group);
        all.map(|(level, short)| Note::short(level, short))
            .collect()
    }

    fn sentence(&self, short: &ShortSegments) -> Shortfall {
        let then = self.consequence(short);
        let facts = short.reasons.iter().rev();
        let facts = facts.map(|reason| self.fact(short.subject, *reason).consequence(&then));
        let whole = facts.reduce(|after, before| before.and(after));
        whole.unwrap_or_else(|| Shortfall::new(short.subject, then))
    }

    fn consequence(&self, short: &ShortSegments) -> String {
        let subject = short.subject;
        let has = |test: fn(&Reason) -> bool| short.reasons.iter().any(test);
        let is_some = has(|reason| match reason {
            Reason::Pool { pages, .. } => *pages > 0,
            Reason::Group { size, rest } => rest.bytes() >= *size,
            _ => false,
        });
        let (rung, size) = short.next;
        if rung == Rung::Fail {
            return self.failure(subject, is_some);
        }
        let place = match rung {
            Rung::Pool => format!("{} pages", Bytes::new(size)),
            Rung::Thp => "transparent huge pages".to_owned(),
            Rung::Base | Rung::Fail => "base pages".to_owned(),
        };
        let is_thp = |reason: &Reason| {
            matches!(
                reason,
                Reason::Thp(_) | Reason::Excluded | Reason::Barred(_)
            )
        };
        let verb = match rung == Rung::Base && short.reasons.iter().all(is_thp) {
            true => subject.verb("stays on", "stay on"),
            false => subject.verb("goes to", "go to"),
        };
        let names = match has(|reason| matches!(reason, Reason::Barred(_))) {
            // Bss needs no copy.
            true => subject.names().replace("data and bss", "data"),
            false => subject.names(),
        };
        let beyond = match is_some {
            true if subject == Subject::SHM => "a mapping or segment of more gets none of them, ",
            true => "beyond them, ",
            false => "",
        };
        let is_refused = self.served.fallback == Fallback::None && subject.is_of_file();
        let why = if is_refused { " (--fallback=none)" } else { "" };
        format!("{beyond}{names} {verb} {place}{why}")
    }

    /// Returns the consequence of failing requests; `is_some` if the pool has pages.
    fn failure(&self, subject: Subject, is_some: bool) -> String {
        let why = match self.served.fallback {
            Fallback::None => "--fallback=none",
            Fallback::Thp | Fallback::Base => "--require",
        };
        match is_some {
            true if subject == Subject::SHM => {
                format!("a mapping or segment of more fails ({why})")
            }
            true => format!("requests beyond them fail ({why})"),
            false => format!("requests for it fail ({why})"),
        }
    }

    fn fact(&self, subject: Subject, reason: Reason) -> Shortfall {
        let short = |fact: String| Shortfall::new(subject, fact);
        match reason {
            Reason::NoPool => {
                let none = self.kernel.no_pools;
                let short = short(none.to_string());
                match none.0 {
                    None => short.source(pool::dir(), "absent"),
                    Some(hidden) => hidden.explain(short),
                }
            }
            Reason::Pool { size, pages } => {
                let pool = format!("the pool of {} pages", Bytes::new(size));
                let noun = if pages == 1 { "page" } else { "pages" };
                let Some(source) = self.source(size) else {
                    return short(format!("{pool} has {pages} {noun} left"));
                };
                let short = short(match pages {
                    0 => format!("{pool} {}", source.shortage()),
                    _ => format!("{pool} has {pages} {noun} ({}) left", source.available()),
                });
                source.remedy(short, self.missing.get(&size).copied().unwrap_or(0))
            }
            Reason::Group { size, rest } => self.group(subject, size, rest),
            Reason::Quota { size } => short(format!(
                "{} is less than a page of {}",
                self.limit,
                Bytes::new(size)
            )),
            Reason::TooSmall { size } => {
                let names = subject.names();
                short(format!(
                    "no whole {} page lies in {names}",
                    Bytes::new(size)
                ))
            }
            Reason::Barred(call) => self.barred(subject, call),
            Reason::Excluded => short("--fallback=base excludes transparent huge pages".to_owned()),
            Reason::Thp(why) => self.no_thp(subject, why),
        }
    }

    fn source(&self, size: u64) -> Option<&Source> {
        self.kernel.of_size(PageSize::new(size)?)
    }

    fn group(&self, subject: Subject, size: u64, rest: Rest) -> Shortfall {
        let limit = self.source(size).and_then(|source| source.limit.as_ref());
        let Some((limit, Rest::Bytes(rest))) = limit.map(|limit| (limit, rest)) else {
            return unread(subject, limit);
        };
        let (rest, size, file) = (Bytes::new(rest), Bytes::new(size), &limit.file);
        let fact = format!("the control group allows {rest} more of {size} pages");
        let unlimited = match file.as_str().ends_with("limit_in_bytes") {
            true => "-1",
            false => "max",
        };
        let short = Shortfall::new(subject, fact).source(file, limit.limit.get());
        short.mend("to lift it", format!("echo {unlimited} > {file}"))
    }

    fn barred(&self, subject: Subject, call: &str) -> Shortfall {
        let fact = format!("a filter of system calls (seccomp) refuses {call}");
        let advice = format!("start it without that filter, or allow {call} in it");
        let short = Shortfall::new(subject, fact).source(STATUS, "Seccomp: 2");
        short.advise(advice)
    }

    fn no_thp(&self, subject: Subject, why: NoThp) -> Shortfall {
        const NAME: &str = "transparent huge pages";
        let short = |fact: String| Shortfall::new(subject, fact);
        let thp = self.kernel.thp.as_ref();
        let word = |word: Option<&String>| word.map_or("never", String::as_str).to_owned();
        let shmem = thp::dir().join("shmem_enabled");
        match why {
            NoThp::Absent if thp.is_some() => {
                short(format!("this kernel has no {NAME} for shared memory"))
                    .source(shmem, "absent")
            }
            NoThp::Absent | NoThp::Unknown => {
                short(format!("this kernel has no {NAME}")).source(thp::dir(), "absent")
            }
            NoThp::Never => {
                let word = word(thp.and_then(|thp| thp.enabled.as_ref()));
                short(format!("{NAME} are set to {word}"))
                    .source(thp::dir().join("enabled"), word)
                    .mend("to have them", "hugeadm --thp-madvise")
            }
            NoThp::SharedNever => {
                let word = word(thp.and_then(|thp| thp.shmem_enabled.as_ref()));
                short(format!("{NAME} for shared memory are set to {word}"))
                    .source(shmem, word)
                    .mend("to have them", "hugeadm --thp-shmem advise")
            }
            NoThp::SizeNever => {
                let Some(size) = thp.and_then(|thp| thp.pmd_size) else {
                    return short(why.reason().to_owned());
                };
                short(format!("{NAME} of {size} are set to never"))
                    .source(thp::size_dir(size).join("enabled"), "never")
                    .mend("to have them", format!("hugeadm --thp-size {size}:inherit"))
            }
            NoThp::Disabled => self.disabled(subject),
            NoThp::Scarce => self.scarce(subject),
            NoThp::Refused => self.barred(subject, "madvise"),
        }
    }

    fn disabled(&self, subject: Subject) -> Shortfall {
        let short = match self.kernel.thp_disabled {
            true => {
                let fact = "transparent huge pages are switched off for this process and its \
                            children (prctl PR_SET_THP_DISABLE)";
                Shortfall::new(subject, fact).source(STATUS, "THP_enabled: 0")
            }
            false => {
                let fact = "the program turns transparent huge pages off for itself (prctl \
                            PR_SET_THP_DISABLE)";
                Shortfall::new(subject, fact)
            }
        };
        short.advise("hugectl --thp-policy=always lifts that")
    }

    fn scarce(&self, subject: Subject) -> Shortfall {
        let limit = self.kernel.memory.as_ref();
        let known = limit.and_then(|limit| Some((limit, limit.unused()?, limit.used?)));
        let Some((limit, rest, used)) = known else {
            return unread(subject, limit);
        };
        let needed = self.missing.get(&0).copied().unwrap_or(0);
        let (more, file) = (used.get().saturating_add(needed), &limit.file);
        let fact = format!("the memory control group leaves {rest}");
        let short = Shortfall::new(subject, fact).source(file, limit.limit.get());
        let purpose = "to have room for them, at least";
        short.mend(purpose, format!("echo {more} > {file}"))
    }

    /// Returns a shortfall if the settings are hidden; the library tries anyway.
    fn hidden_thp(&self, on_thp: Subject) -> Option<Shortfall> {
        let hidden = self.kernel.thp_hidden.filter(|_| !on_thp.is_none())?;
        let then = "whether transparent huge pages can be had is unknown before the start";
        Some(hidden.explain(Shortfall::new(on_thp, hidden.to_string()).consequence(then)))
    }

    /// Returns the limits of a heap that apply on every rung.
    fn heap_limits(&self) -> Vec<Shortfall> {
        let heap = Subject::HEAP.when(self.served.heap.is_some());
        let mut shorts = Vec::new();
        if let Some(limit) = self.kernel.address_space.filter(|_| !heap.is_none()) {
            let fact = format!("the address space is limited to {limit} (ulimit -v)");
            let value = format!("Max address space: {}", limit.get());
            let short = Shortfall::new(heap, fact)
                .consequence("huge pages need more of it than base pages")
                .source("/proc/self/limits", value);
            shorts.push(short.mend("to lift it", "ulimit -v unlimited"));
        }
        if self.kernel.overcommit == Some(2) && !heap.is_none() {
            let fact = "memory is not overcommitted (vm.overcommit_memory is 2)";
            let short = Shortfall::new(heap, fact)
                .consequence("the heap may get less than asked")
                .source(OVERCOMMIT, 2);
            shorts.push(short.mend("to change it", "sysctl vm.overcommit_memory=0"));
        }
        shorts
    }

    /// Returns a shortfall of programs that call `shmget`, which hugectl cannot foresee.
    fn shm_group(&self) -> Option<Shortfall> {
        let source = self.served.shm.and_then(|pages| self.kernel.source(pages));
        let has_pages = source.is_some_and(|source| source.available() > Bytes::default());
        let found = self.kernel.shm_group.as_ref().filter(|_| has_pages)?;
        let fact = "should the program use shmget, the kernel refuses it pool pages";
        let short = Shortfall::new(Subject::SHM, fact).source(sysctl::shm_group_path(), found.now);
        let command = format!("hugeadm --set-shm-group {}", found.group);
        Some(short.mend("to allow them", command))
    }
}

/// Returns the shortfall of a limit whose usage cannot be read.
fn unread(subject: Subject, limit: Option<&Limit>) -> Shortfall {
    let Some(limit) = limit else {
        return Shortfall::new(subject, NoThp::Scarce.reason());
    };
    let fact = format!("the usage of {} cannot be read", limit.file);
    Shortfall::new(subject, fact).source(&limit.file, limit.limit.get())
}
