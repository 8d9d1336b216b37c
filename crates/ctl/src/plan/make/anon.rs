//! Private mappings of the program's own: `--anon`.

use hugetools_contract::env::{self, Pages};
use hugetools_model::Bytes;

use super::Maker;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

impl Maker<'_> {
    /// The variables for it, and why pages of a pool are not what it gets.
    pub(super) fn anon(&mut self) {
        let run = self.run;
        if let Some(pages) = run.anon {
            self.set(env::ANON, pages.to_string());
        }
        match (run.anon_min, self.findings.asked.anon) {
            (None, _) => {}
            (Some(len), Some(_)) => self.set(env::ANON_MIN, len.get().to_string()),
            (Some(_), None) => self.warn("--anon-min does nothing without --anon"),
        }
        if let (Some(Pages::Size(size)), Some(_)) = (run.anon, self.findings.served.anon) {
            let fact = "pages of a pool can be unmapped, protected and dropped as a whole only, \
                        and what a program maps by itself it changes in parts";
            let size = Bytes::new(size);
            let then = format!("--anon={size} gets transparent huge pages");
            self.fall_short(Shortfall::new(Subject::ANON, fact).outcome(then));
        }
    }
}
