//! Transparent huge pages: what keeps private and shared memory from them.

use hugetools_model::thp;

use super::{Check, filter, untold};
use crate::probe::kernel::{Hidden, SETTINGS};
use crate::say::note::Note;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

impl Check<'_> {
    pub(super) fn private_thp(&mut self, subject: Subject) {
        let (names, stay) = (subject.names(), subject.verb("stays", "stay"));
        let then = format!("{names} {stay} on base pages");
        let Some(thp) = &self.kernel.thp else {
            if let Some(hidden) = self.kernel.thp_hidden {
                return self.hidden_thp(subject, hidden);
            }
            return self.warn_beside(no_thp(subject).then(then));
        };
        if !thp.serves_madvise() {
            let word = thp.enabled.as_deref().unwrap_or("never");
            let fact = format!("transparent huge pages are set to {word}");
            let short = Shortfall::new(subject, fact).then(then);
            let short = short.says(thp::dir().join("enabled"), word);
            self.warn_beside(short.mend("to have them", "hugeadm --thp-madvise"));
        } else if let Some((size, word)) = thp.ruled_out() {
            let fact = format!("transparent huge pages of {size} are set to {word}");
            // What is collapsed later does not heed it.
            let mostly = mostly_base(subject);
            let short = Shortfall::new(subject, fact).then(mostly);
            let short = short.says(thp::size_dir(size).join("enabled"), word);
            self.warn_beside(
                short.mend("to have them", format!("hugeadm --thp-size {size}:inherit")),
            );
        } else if self.kernel.thp_disabled {
            let fact = "transparent huge pages are switched off for this process and its children \
                        (prctl PR_SET_THP_DISABLE)";
            let short = Shortfall::new(subject, fact).then(then);
            let short = short.says("/proc/self/status", "THP_enabled: 0");
            self.warn_beside(short.advise("hugectl --thp-policy=always lifts that"));
        } else if self.kernel.bars_private() {
            let short = filter::of_advice(self.kernel, subject);
            short.into_iter().for_each(|short| self.warn_beside(short));
        } else {
            self.own_ban(subject.taken_later());
            self.memory_group(subject);
        }
    }

    /// Of what the program takes by itself, after it has turned them off: what was loaded
    /// before has them.
    fn own_ban(&mut self, subject: Subject) {
        if self.kernel.thp_banned && !subject.is_none() {
            let (names, stay) = (subject.names(), subject.verb("stays", "stay"));
            let fact = "the program turns transparent huge pages off for itself (prctl \
                        PR_SET_THP_DISABLE)";
            let short = Shortfall::new(subject, fact).then(format!("{names} {stay} on base pages"));
            self.warn_beside(short.advise("hugectl --thp-policy=always lifts that"));
        }
    }

    /// Warns of a memory control group that is nearly full: the library asks for transparent
    /// huge pages only for half of what is left.
    fn memory_group(&mut self, subject: Subject) {
        let Some(limit) = &self.kernel.memory else {
            return;
        };
        let (needs, file) = (self.least(subject), &limit.file);
        let (Some(rest), Some(used)) = (limit.rest(), limit.used) else {
            return self.warn_beside(untold(subject, limit));
        };
        if !self.has_room(subject) {
            let more = needs.get().saturating_mul(4).saturating_add(used.get());
            let fact = format!("the memory control group leaves {rest}");
            let short = Shortfall::new(subject, fact).then(mostly_base(subject));
            let short = short.says(file, limit.limit.get());
            let command = format!("echo {more} > {file}");
            self.warn_beside(short.mend_at_least("to have room for them", command, ", or more"));
        }
    }

    /// Once for all that is asked for.
    fn hidden_thp(&mut self, subject: Subject, hidden: Hidden) {
        let is_told = |note: &Note| {
            let short = note.shortfall.as_ref();
            short.is_some_and(|short| short.fact.starts_with(SETTINGS))
        };
        if !self.said.notes.iter().any(is_told) {
            let short = Shortfall::new(subject, hidden.to_string());
            let short = short.then(
                "transparent huge pages are asked for, but whether they come cannot be told before",
            );
            let short = short.says(hidden.path(), hidden.value());
            self.warn(short.mend("to see it", hidden.to_see()));
        }
    }

    pub(super) fn shared_thp(&mut self) {
        let then = "shared memory stays on base pages";
        let Some(thp) = &self.kernel.thp else {
            if let Some(hidden) = self.kernel.thp_hidden {
                return self.hidden_thp(Subject::SHM, hidden);
            }
            return self.warn(no_thp(Subject::SHM).then(then));
        };
        if self.kernel.bars_shared() {
            let short = filter::of_advice(self.kernel, Subject::SHM);
            short.into_iter().for_each(|short| self.hint(short));
        } else if !thp.serves_shared_madvise() {
            let Some(word) = thp.shmem_enabled.as_deref() else {
                let fact = "this kernel has no transparent huge pages for shared memory";
                let short = Shortfall::new(Subject::SHM, fact).then("it stays on base pages");
                return self.hint(short.says(thp::dir().join("shmem_enabled"), "absent"));
            };
            let fact = format!("transparent huge pages for shared memory are set to {word}");
            let short = Shortfall::new(Subject::SHM, fact).then("it stays on base pages");
            let short = short.says(thp::dir().join("shmem_enabled"), word);
            self.hint(short.mend("to have them", "hugeadm --thp-shmem advise"));
        }
    }
}

fn mostly_base(subject: Subject) -> String {
    let (names, stay) = (subject.names(), subject.verb("stays", "stay"));
    format!("{names} {stay} mostly on base pages")
}

fn no_thp(subject: Subject) -> Shortfall {
    let short = Shortfall::new(subject, "this kernel has no transparent huge pages");
    short.says(thp::dir(), "absent")
}
