//! Faults that come late. One that was raised just before memory was replaced
//! is delivered to its thread after that; trying the access again cures it, and
//! the same fault once more has another cause.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::sys;

/// How often memory was replaced.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// Accesses that were tried again, each with the generation of then: one word
/// that stands for thread, address and generation.
static TRIED: [AtomicU64; PLACES] = [const { AtomicU64::new(0) }; PLACES];

const PLACES: usize = 256;

/// Notes that memory was replaced.
pub fn note() {
    GENERATION.fetch_add(1, Ordering::SeqCst);
}

/// How often memory was replaced so far.
pub fn generation() -> u64 {
    GENERATION.load(Ordering::SeqCst)
}

/// Whether an access of this thread that has failed is to be tried again: memory
/// was replaced since it was tried last.
pub fn is_to_be_tried_again(addr: usize) -> bool {
    let generation = generation();
    let access = mix(mix(sys::thread_name() as u64) ^ addr as u64);
    let word = mix(access ^ generation) | 1;
    let place = &TRIED[(access >> 32) as usize % PLACES];
    generation > 0 && place.swap(word, Ordering::SeqCst) != word
}

/// Spreads a number over all bits.
fn mix(number: u64) -> u64 {
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let mixed = (number ^ number >> 29).wrapping_mul(SPREAD);
    mixed ^ mixed >> 32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_after_each_time() {
        // Other tests replace memory, too.
        note();
        let often = |addr| (0..1000).filter(|_| is_to_be_tried_again(addr)).count();
        let (before, tried) = (generation(), often(0x1000));
        let replaced = usize::try_from(generation() - before).unwrap();
        assert!((1..=1 + replaced).contains(&tried), "{tried} {replaced}");
        note();
        assert!(is_to_be_tried_again(0x1000));
    }
}
