//! Stacks: `--stack`.

use hugetools_contract::env::{self, Pages};
use hugetools_model::Bytes;

use super::Maker;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

impl Maker<'_> {
    /// The variables for it, and why pages of a pool are not what it gets.
    pub(super) fn stack(&mut self) {
        let run = self.run;
        if let Some(pages) = run.stack {
            self.set(env::STACK, pages.to_string());
        }
        match (run.stack_depth, self.findings.asked.stack) {
            (None, _) => {}
            (Some(len), Some(_)) => self.set(env::STACK_DEPTH, len.get().to_string()),
            (Some(_), None) => self.warn("--stack-depth does nothing without --stack"),
        }
        if let (Some(Pages::Size(size)), Some(_)) = (run.stack, self.findings.served.stack) {
            let fact = "a stack grows, has an end that nobody may touch, and libc gives parts of \
                        it back, none of which can be with pages of a pool";
            let size = Bytes::new(size);
            let then = format!("--stack={size} gets transparent huge pages");
            self.fall_short(Shortfall::new(Subject::STACK, fact).outcome(then));
        }
    }
}
