//! The memory nodes that this process may use.

use core::sync::atomic::{AtomicU8, Ordering};

use crate::sys;

/// Whether this process may have memory of more than one node; asked once.
pub fn are_several() -> bool {
    const UNKNOWN: u8 = 0;
    const NO: u8 = 1;
    const YES: u8 = 2;
    static KNOWN: AtomicU8 = AtomicU8::new(UNKNOWN);
    let known = match KNOWN.load(Ordering::Relaxed) {
        UNKNOWN => match sys::allowed_nodes() {
            Ok(nodes) if nodes > 1 => YES,
            // Without CONFIG_NUMA there is one node.
            _ => NO,
        },
        known => known,
    };
    KNOWN.store(known, Ordering::Relaxed);
    known == YES
}
