//! Limits hugectl to a share of one CPU.

use std::time::Duration;

use crate::sys::clock::cpu_time;

/// A limit of CPU time.
#[derive(Debug)]
pub struct Pace {
    percent: u32,
    /// CPU time that pauses have made up for.
    paid: Duration,
}

impl Pace {
    /// Limits this process to `percent` of one CPU from now on; `percent` is from 1 to 100.
    pub fn new(percent: u8) -> Pace {
        Pace {
            percent: u32::from(percent),
            paid: cpu_time(),
        }
    }

    /// Sleeps in proportion to the CPU time since the last call.
    pub(super) fn keep(&mut self) {
        let cpu = cpu_time();
        let pause = cpu.saturating_sub(self.paid) * (100 - self.percent) / self.percent;
        self.paid = cpu;
        std::thread::sleep(pause);
    }
}
