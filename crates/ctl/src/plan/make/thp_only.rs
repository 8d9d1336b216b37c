//! Private mappings (`--anon`) and stacks (`--stack`): they get transparent huge pages,
//! whatever pages are requested.

use hugetools_contract::env::{self, Fallback, Pages};
use hugetools_model::Bytes;

use super::Maker;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

impl Maker<'_> {
    pub(super) fn thp_only(&mut self) {
        let (run, asked) = (self.run, self.findings.asked);
        let anon_min = ("--anon-min", env::ANON_MIN, run.anon_min);
        self.one("--anon", env::ANON, (run.anon, asked.anon), anon_min);
        let depth = ("--stack-depth", env::STACK_DEPTH, run.stack_depth);
        self.one("--stack", env::STACK, (run.stack, asked.stack), depth);
        let served = self.findings.served;
        for (option, given, served, subject) in [
            ("--anon", run.anon, served.anon, Subject::ANON),
            ("--stack", run.stack, served.stack, Subject::STACK),
        ] {
            let Some(Pages::Size(size)) = given else {
                continue;
            };
            // The ladder says that --fallback=base excludes these, too.
            if served.is_some() && self.findings.served.fallback != Fallback::Base {
                let fact = "a pool page can only be unmapped and protected as a whole, and \
                            programs and libc do so in parts";
                let then = format!("{option}={} gets transparent huge pages", Bytes::new(size));
                self.fall_short(Shortfall::new(subject, fact).outcome(then));
            }
        }
    }

    /// Sets the variable of an option and of the length that goes with it.
    fn one(
        &mut self,
        option: &str,
        variable: &'static str,
        (given, asked): (Option<Pages>, Option<Pages>),
        (length, length_variable, bytes): (&str, &'static str, Option<Bytes>),
    ) {
        if let Some(pages) = given {
            self.set(variable, pages.to_string());
        }
        match (bytes, asked) {
            (None, _) => {}
            (Some(bytes), Some(_)) => self.set(length_variable, bytes.get().to_string()),
            (Some(_), None) => self.warn(format!("{length} does nothing without {option}")),
        }
    }
}
