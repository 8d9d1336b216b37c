//! Private mappings (`--anon`) and stacks (`--stack`) get transparent huge pages, even if pool pages
//! are requested.

use hugetools_contract::env::{self, Fallback, Pages};
use hugetools_model::Bytes;

use super::Maker;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

impl Maker<'_> {
    pub(super) fn thp_only(&mut self) {
        let (run, asked) = (self.run, self.findings.asked);
        if let Some(pages) = run.anon {
            self.set(env::ANON, pages.to_string());
        }
        self.length("--anon-min", env::ANON_MIN, run.anon_min, asked.anon);
        if let Some(pages) = run.stack {
            self.set(env::STACK, pages.to_string());
        }
        self.length(
            "--stack-depth",
            env::STACK_DEPTH,
            run.stack_depth,
            asked.stack,
        );
        let served = self.findings.served;
        for (option, given, served, subject) in [
            ("--anon", run.anon, served.anon, Subject::ANON),
            ("--stack", run.stack, served.stack, Subject::STACK),
        ] {
            let Some(Pages::Size(size)) = given else {
                continue;
            };
            // The ladder gives the reason for --fallback=base.
            if served.is_some() && self.findings.served.fallback != Fallback::Base {
                let fact = "programs and libc unmap and protect parts of a huge page, which a \
                            pool page does not allow";
                let then = format!("{option}={} gets transparent huge pages", Bytes::new(size));
                self.fall_short(Shortfall::new(subject, fact).consequence_first(then));
            }
        }
    }

    /// Sets the variable of a length, if its segment is requested.
    fn length(
        &mut self,
        option: &str,
        variable: &'static str,
        bytes: Option<Bytes>,
        pages: Option<Pages>,
    ) {
        match (bytes, pages) {
            (None, _) => {}
            (Some(bytes), Some(_)) => self.set(variable, bytes.get().to_string()),
            (Some(_), None) => {
                let (first, _) = option[2..].split_once('-').unwrap_or_default();
                self.warn(format!("{option} does nothing without --{first}"));
            }
        }
    }
}
