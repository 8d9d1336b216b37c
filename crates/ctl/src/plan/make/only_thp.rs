//! What gets transparent huge pages, whatever pages are asked for: private mappings of
//! the program's own (`--anon`), and stacks (`--stack`).

use hugetools_contract::env::{self, Fallback, Pages};
use hugetools_model::Bytes;

use super::Maker;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// One of them.
struct OnlyThp {
    option: &'static str,
    variable: &'static str,
    given: Option<Pages>,
    /// What of it is left, once other options and the target had their say.
    asked: Option<Pages>,
    served: Option<Pages>,
    /// A length that goes with it: its option, its variable, what was given.
    length: (&'static str, &'static str, Option<Bytes>),
    subject: Subject,
    /// Why pages of a pool are not what it gets.
    fact: &'static str,
}

impl Maker<'_> {
    /// The variables for private mappings.
    pub(super) fn anon(&mut self) {
        self.only_thp(&OnlyThp {
            option: "--anon",
            variable: env::ANON,
            given: self.run.anon,
            asked: self.findings.asked.anon,
            served: self.findings.served.anon,
            length: ("--anon-min", env::ANON_MIN, self.run.anon_min),
            subject: Subject::ANON,
            fact: "pages of a pool can be unmapped, protected and dropped as a whole only, and \
                   what a program maps by itself it changes in parts",
        });
    }

    /// The variables for stacks.
    pub(super) fn stack(&mut self) {
        self.only_thp(&OnlyThp {
            option: "--stack",
            variable: env::STACK,
            given: self.run.stack,
            asked: self.findings.asked.stack,
            served: self.findings.served.stack,
            length: ("--stack-depth", env::STACK_DEPTH, self.run.stack_depth),
            subject: Subject::STACK,
            fact: "a stack grows, has an end that nobody may touch, and libc gives parts of it \
                   back, none of which can be with pages of a pool",
        });
    }

    fn only_thp(&mut self, what: &OnlyThp) {
        let option = what.option;
        if let Some(pages) = what.given {
            self.set(what.variable, pages.to_string());
        }
        match (what.length, what.asked) {
            ((.., None), _) => {}
            ((_, variable, Some(len)), Some(_)) => self.set(variable, len.get().to_string()),
            ((length, ..), None) => self.warn(format!("{length} does nothing without {option}")),
        }
        // Where these are ruled out, too, that is said instead.
        let served = what
            .served
            .filter(|_| self.findings.served.fallback != Fallback::Base);
        if let (Some(Pages::Size(size)), Some(_)) = (what.given, served) {
            let size = Bytes::new(size);
            let then = format!("{option}={size} gets transparent huge pages");
            self.fall_short(Shortfall::new(what.subject, what.fact).outcome(then));
        }
    }
}
