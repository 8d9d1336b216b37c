//! A share of one CPU.

use std::time::Duration;

use crate::adopt::effects::Adopts;

/// Pauses that are shorter are put together.
const SHORTEST: Duration = Duration::from_millis(1);
/// One pause, after which somebody looks whether all is as it was.
const LONGEST: Duration = Duration::from_secs(1);
/// How much slower it becomes at most.
const SLOWEST: u32 = 4;
/// Of the time by which pauses were too long, or others had the processor, so much is made
/// up for: not more, since that goes on without a pause.
const CREDIT: Duration = Duration::from_millis(200);

/// Keeps to a share of one CPU.
#[derive(Debug)]
pub struct Pace {
    percent: u32,
    /// By what it is slowed down.
    slower: u32,
    cpu: Duration,
    /// The moment at which what was taken is within the share.
    due: Duration,
}

impl Pace {
    /// At most so many percent of one CPU, from now on.
    pub fn new(percent: u8, effects: &dyn Adopts) -> Pace {
        Pace {
            percent: u32::from(percent.max(1)),
            slower: 1,
            cpu: effects.cpu(),
            due: effects.wall(),
        }
    }

    /// Pauses where more than the share was taken. What was not taken is no credit, but
    /// for pauses that were too long: the kernel ends each of them somewhat late.
    pub(super) fn keep(&mut self, effects: &mut dyn Adopts) {
        let (cpu, now) = (effects.cpu(), effects.wall());
        let spent = cpu.saturating_sub(self.cpu);
        let wanted = spent * 100 * self.slower / self.percent;
        self.cpu = cpu;
        // The time that was spent has passed already.
        self.due = self.due.max(now.saturating_sub(spent + CREDIT)) + wanted;
        let missing = self.due.saturating_sub(now);
        if missing >= SHORTEST {
            effects.rest(missing.min(LONGEST));
        }
    }

    /// Whether the kernel has trouble: then it goes on more slowly, else faster again.
    pub(super) fn adapt(&mut self, trouble: bool) {
        self.slower = match trouble {
            true => (self.slower * 2).min(SLOWEST),
            false => (self.slower / 2).max(1),
        };
    }

    /// Whether it goes on more slowly than was asked for.
    pub(super) fn is_slowed(&self) -> bool {
        self.slower > 1
    }

    /// Whether it cannot go on more slowly.
    pub(super) fn is_slowest(&self) -> bool {
        self.slower >= SLOWEST
    }
}
