//! Whether private pool memory can move before a fork.

use core::fmt;

use crate::kernel::{dma_users, facts};
use crate::migrate::shield::Shield;
use crate::rt::message::Amount;

/// Memory that stays for others.
const MARGIN: usize = 64 << 20;

/// Why memory stays where it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// So much memory is free, which is too little.
    TooLittle(usize),
    /// How much is free cannot be told: there is no `/proc`, or no descriptor.
    Unknown,
    /// A device or a ring may be writing to it.
    Device,
    /// Other threads may be writing to it, and nothing stops them.
    Threads,
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::TooLittle(room) => write!(f, "since only {} are free to move to", Amount(*room)),
            Why::Unknown => f.write_str("since it cannot be told how much memory is free"),
            Why::Device => f.write_str("since a device or a ring may be writing there"),
            Why::Threads => f.write_str("since other threads may be writing there"),
        }
    }
}

/// What keeps others from writing while so many bytes move.
pub(super) fn shield_for(total: usize) -> Result<Shield, Why> {
    // What is free (`sysinfo(2)`) would be no answer: a control group may leave
    // less, and what moves counts there.
    let room = facts::room_or_last().ok_or(Why::Unknown)?;
    if room < total.saturating_add(MARGIN) {
        return Err(Why::TooLittle(room));
    }
    if dma_users::may_write() {
        return Err(Why::Device);
    }
    Shield::best().map_err(|_| Why::Threads)
}
