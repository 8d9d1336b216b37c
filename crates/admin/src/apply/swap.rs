//! Temporary swap. It is noted before it is created, so that the next run can remove it
//! after a kill.

use super::{Run, not_run};
use crate::effects::Ran;
use crate::report::{Failure, NotRun, Outcome};
use crate::step::Swap;

impl Run<'_> {
    pub(super) fn swap_on(&mut self, swap: &Swap) -> Result<Outcome, Failure> {
        self.unfinished.swaps.insert(swap.path.clone());
        self.remember();
        let action = format!("make swap of {}", swap.path.display());
        let ran = self.effects.swap_on(swap);
        if swap.stays || ran.as_ref().ok() != Some(&Ran::Yes) {
            self.forget(swap);
        }
        match ran {
            Ok(Ran::Yes) => Ok(Outcome::DONE),
            Ok(Ran::Skipped) => Ok(not_run(NotRun::RecordedTree)),
            Err(error) => Err(Failure::call(&action, &error)),
        }
    }

    pub(super) fn swap_off(&mut self, swap: &Swap) -> Result<Outcome, Failure> {
        let path = swap.path.display();
        let action = format!("stop swapping to {path}");
        let there = self.effects.stat(&swap.path);
        let there = there.map_err(|error| Failure::call(&action, &error))?;
        if there.is_none() {
            self.forget(swap);
            return Ok(Outcome::Unchanged { value: None });
        }
        let ran = self.effects.swap_off(swap);
        let ran = ran.map_err(|error| Failure::call(&action, &error))?;
        self.forget(swap);
        match ran {
            Ran::Yes => Ok(Outcome::DONE),
            Ran::Skipped => Ok(not_run(NotRun::RecordedTree)),
        }
    }

    fn forget(&mut self, swap: &Swap) {
        if self.unfinished.swaps.remove(&swap.path) {
            self.remember();
        }
    }
}
