//! Temporary swap.

use super::Run;
use super::files::SKIPPED;
use crate::report::{Failure, Outcome};
use crate::step::Swap;

impl Run<'_> {
    pub(super) fn swap_on(&mut self, swap: &Swap) -> Result<Outcome, Failure> {
        if !self.root.has_kernel() {
            return Ok(SKIPPED);
        }
        let action = format!("make swap of {}", swap.path.display());
        let ran = self.effects.swap_on(swap);
        ran.map_err(|error| Failure::call(&action, &error))?;
        Ok(Outcome::DONE)
    }

    pub(super) fn swap_off(&mut self, swap: &Swap) -> Result<Outcome, Failure> {
        let action = format!("stop swapping to {}", swap.path.display());
        let failed = |error| Failure::call(&action, &error);
        if self.effects.stat(&swap.path).map_err(failed)?.is_none() {
            return Ok(Outcome::Unchanged { value: None });
        }
        if !self.root.has_kernel() {
            return Ok(SKIPPED);
        }
        self.effects.swap_off(swap).map_err(failed)?;
        Ok(Outcome::DONE)
    }
}
