//! Where a control group limits memory: how much of it a heap leaves to others.

/// What an allocator keeps free, besides a part of what it has: some for each size of
/// block, and again for each thread. That does not become more with the heap.
const OF_SIZES: u64 = 48 << 20;
const OF_THREAD: u64 = 16 << 20;

/// So many bytes of a limit a heap of ours leaves alone in a process with so many threads: a
/// quarter, and besides what an allocator keeps, up to a half.
pub fn spared(limit: u64, threads: u64) -> u64 {
    let kept = OF_SIZES.saturating_add(threads.saturating_mul(OF_THREAD));
    limit / 4 + kept.min(limit / 2)
}

/// The least limit in which a heap has room for so many bytes beside what is used, with one
/// thread.
pub fn least_limit(used: u64) -> u64 {
    let small = used.saturating_mul(4);
    let large = used.saturating_add(OF_SIZES + OF_THREAD) / 3 * 4 + 4;
    small.min(large)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_group_leaves_a_smaller_part() {
        let mib = |count: u64| count << 20;
        assert_eq!(spared(mib(100), 1), mib(75));
        assert_eq!(spared(mib(256), 1), mib(128));
        assert_eq!(spared(mib(256), 8), mib(192));
        assert_eq!(spared(mib(4096), 8), mib(1024 + 176));
    }

    #[test]
    fn the_least_limit_has_room() {
        for used in [0, 1, 5 << 20, 32 << 20, 33 << 20, 5 << 30] {
            let limit = least_limit(used);
            assert!(limit - spared(limit, 1) >= used, "{used}");
        }
    }
}
