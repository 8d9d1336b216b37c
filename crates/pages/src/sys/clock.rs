//! Clocks through libc's `clock_gettime`, which uses the vDSO.
#![expect(unsafe_code, reason = "calls a function of libc")]

/// Monotonic milliseconds.
pub fn now() -> u64 {
    milliseconds(libc::CLOCK_MONOTONIC)
}

/// Monotonic milliseconds at the last timer tick; cheaper than [`now`].
pub fn coarse_now() -> u64 {
    milliseconds(libc::CLOCK_MONOTONIC_COARSE)
}

/// Milliseconds since 1970.
pub fn wall_clock() -> u64 {
    milliseconds(libc::CLOCK_REALTIME)
}

/// Milliseconds since boot, including suspend.
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
