//! The process's CPU time, and the time of day in milliseconds since 1970.

use std::time::Duration;

use nix::time::{ClockId, clock_gettime};

pub(crate) fn cpu_time() -> Duration {
    read(ClockId::CLOCK_PROCESS_CPUTIME_ID)
}

pub(crate) fn unix_ms() -> u64 {
    u64::try_from(read(ClockId::CLOCK_REALTIME).as_millis()).unwrap_or(u64::MAX)
}

fn read(id: ClockId) -> Duration {
    clock_gettime(id).map(Duration::from).unwrap_or_default()
}
