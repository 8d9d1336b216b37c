//! The part of a control group's memory limit that the heap leaves free.

/// Bytes that an allocator keeps free, besides a fraction of the heap: a constant for its
/// size classes, and a constant per thread.
const SIZE_CLASSES: u64 = 48 << 20;
const PER_THREAD: u64 = 16 << 20;

/// Returns how many bytes of a memory limit the heap leaves free: a quarter, plus the
/// allocator's reserve, but at most half for the reserve.
pub fn spared(limit: u64, threads: u64) -> u64 {
    let kept = SIZE_CLASSES.saturating_add(threads.saturating_mul(PER_THREAD));
    limit / 4 + kept.min(limit / 2)
}

/// Returns the smallest limit that leaves room for `used` bytes of a single-threaded
/// heap.
pub fn least_limit(used: u64) -> u64 {
    let small = used.saturating_mul(4);
    let large = used.saturating_add(SIZE_CLASSES + PER_THREAD) / 3 * 4 + 4;
    small.min(large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_limit_spares_a_smaller_fraction() {
        let mib = |count: u64| count << 20;
        assert_eq!(spared(mib(100), 1), mib(75));
        assert_eq!(spared(mib(256), 1), mib(128));
        assert_eq!(spared(mib(256), 8), mib(192));
        assert_eq!(spared(mib(4096), 8), mib(1024 + 176));
    }

    #[test]
    fn the_least_limit_fits_the_heap() {
        for used in [0, 1, 5 << 20, 32 << 20, 33 << 20, 5 << 30] {
            let limit = least_limit(used);
            assert!(limit - spared(limit, 1) >= used, "{used}");
        }
    }
}
