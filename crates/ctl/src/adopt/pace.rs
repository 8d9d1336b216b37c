//! Limits hugectl to a share of one CPU.

use std::time::Duration;

use super::effects::Effects;

/// Keeps to a share of one CPU.
#[derive(Debug)]
pub struct Pace {
    percent: u32,
    /// The CPU time for which pauses were made.
    paid: Duration,
}

impl Pace {
    /// At most this percentage of one CPU, from now on.
    pub fn new(percent: u8, effects: &dyn Effects) -> Pace {
        Pace {
            percent: u32::from(percent.clamp(1, 100)),
            paid: effects.cpu(),
        }
    }

    /// Sleeps in proportion to the CPU time since the last call.
    pub(super) fn keep(&mut self, effects: &mut dyn Effects) {
        let cpu = effects.cpu();
        let pause = cpu.saturating_sub(self.paid) * (100 - self.percent) / self.percent;
        self.paid = cpu;
        if !pause.is_zero() {
            effects.sleep(pause);
        }
    }
}
