//! Whether private pool memory can move before a fork.

use core::fmt;

use crate::kernel::{dma_users, facts};
use crate::migrate::shield::Shield;
use crate::rt::message::Amount;

/// Bytes of free memory to leave for others.
const MARGIN: usize = 64 << 20;

/// Why memory stays on the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blocker {
    /// Bytes free, fewer than needed.
    TooLittle(usize),
    /// Free memory is unknown: `/proc` or a cgroup is unreadable.
    Unknown,
    /// DMA or io_uring may be writing.
    Device,
    /// Other threads may be writing, and userfaultfd can't stop them.
    Threads,
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Blocker::TooLittle(room) => {
                write!(f, "since only {} of memory is free", Amount(*room))
            }
            Blocker::Unknown => f.write_str("since the amount of free memory is unknown"),
            Blocker::Device => f.write_str("since DMA or io_uring may be writing there"),
            Blocker::Threads => f.write_str("since other threads may be writing there"),
        }
    }
}

/// Returns the protection against writers for a move of `total` bytes.
pub(super) fn shield_for(total: usize) -> Result<Shield, Blocker> {
    // Not `sysinfo(2)`: a control group may leave less.
    let room = facts::room().ok_or(Blocker::Unknown)?;
    if room < total.saturating_add(MARGIN) {
        return Err(Blocker::TooLittle(room));
    }
    if dma_users::may_write() {
        return Err(Blocker::Device);
    }
    Shield::for_process().map_err(|_| Blocker::Threads)
}
