//! Clocks, by libc's `clock_gettime`, which makes no system call.
#![expect(unsafe_code, reason = "calls a function of libc")]

/// Milliseconds of a clock that only goes forward.
pub fn now() -> u64 {
    milliseconds(libc::CLOCK_MONOTONIC)
}

/// The same as of the last tick, a few milliseconds ago: cheaper.
pub fn about_now() -> u64 {
    milliseconds(libc::CLOCK_MONOTONIC_COARSE)
}

/// Milliseconds since 1970.
pub fn wall_clock() -> u64 {
    milliseconds(libc::CLOCK_REALTIME)
}

/// Milliseconds since the machine was started, sleep included.
pub fn since_boot() -> u64 {
    milliseconds(libc::CLOCK_BOOTTIME)
}

fn milliseconds(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: a variable of its type.
    let _ = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(time.tv_sec) * 1000 + part(time.tv_nsec) / 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_forward() {
        let before = now();
        assert!(before > 0 && before <= now());
        assert!(about_now() <= now() && about_now() + 1000 > now());
    }
}
