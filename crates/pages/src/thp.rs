//! Transparent huge pages: asking for them, and noticing that they cannot be
//! had.
#![expect(unsafe_code, reason = "advises memory by address")]

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use hugetools_contract::env::Fallback;

use crate::facts::{self, NoThp};
use crate::say::{Level, say_once};
use crate::unit::State;
use crate::{cgroup, config, sys};

/// Advises memory to be on the pages of the fallback; what it is then.
///
/// # Safety
/// The range must be mapped by us.
pub unsafe fn advise(addr: usize, len: usize) -> State {
    let wanted = config::get().fallback != Fallback::Base;
    let served = match wanted {
        true => serves(len).inspect_err(|why| say_why(*why)).is_ok(),
        false => false,
    };
    let (advice, state) = match served {
        true => (libc::MADV_HUGEPAGE, State::Thp),
        false => (libc::MADV_NOHUGEPAGE, State::Base),
    };
    // SAFETY: the advice changes no contents.
    match unsafe { sys::madvise(addr, len, advice) } {
        Ok(()) => state,
        // Without CONFIG_TRANSPARENT_HUGEPAGE.
        Err(_) => State::Base,
    }
}

/// Has memory on transparent huge pages now that was touched page by page. Since
/// Linux 6.1; before, khugepaged does it in its own time.
///
/// # Errors
/// When there is no huge page for it, or nothing of it was touched yet.
///
/// # Safety
/// The range must be mapped by us.
pub unsafe fn collapse(addr: usize, len: usize) -> sys::Result<()> {
    const MADV_COLLAPSE: i32 = 25;
    // SAFETY: the advice changes no contents.
    unsafe { sys::madvise(addr, len, MADV_COLLAPSE) }
}

/// Whether so many bytes may be on transparent huge pages now. The program may
/// have turned them off by itself, as Redis does.
fn serves(len: usize) -> Result<(), NoThp> {
    if sys::thp_disabled() {
        return Err(NoThp::Disabled);
    }
    offered()?;
    match has_room(len) {
        true => Ok(()),
        false => Err(NoThp::Scarce),
    }
}

/// What this machine offers; looked up once.
fn offered() -> Result<(), NoThp> {
    const UNKNOWN: u8 = 0;
    const YES: u8 = 1;
    const NEVER: u8 = 2;
    const ABSENT: u8 = 3;
    static KNOWN: AtomicU8 = AtomicU8::new(UNKNOWN);
    let find = || match facts::offered_thp() {
        Ok(()) => YES,
        Err(NoThp::Absent) => ABSENT,
        Err(_) => NEVER,
    };
    let known = match KNOWN.load(Ordering::Relaxed) {
        UNKNOWN => find(),
        known => known,
    };
    KNOWN.store(known, Ordering::Relaxed);
    match known {
        NEVER => Err(NoThp::Never),
        ABSENT => Err(NoThp::Absent),
        _ => Ok(()),
    }
}

/// Bytes that may be advised before the control group is asked again.
static ROOM: AtomicUsize = AtomicUsize::new(0);

/// Whether it had too little left when it was asked last.
static SCARCE: AtomicBool = AtomicBool::new(false);

/// How many questions are spared after it had too little left.
static SPARED: AtomicU32 = AtomicU32::new(0);

/// Whether the control group has left too little for whole huge pages.
pub(crate) fn is_scarce() -> bool {
    SCARCE.load(Ordering::Relaxed)
}

/// Whether the memory control group leaves room for whole huge pages: a huge
/// page takes 2 MiB at its first touch, where a base page would take 4 KiB.
fn has_room(len: usize) -> bool {
    let take = |room: usize| room.checked_sub(len);
    let taken = ROOM.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
    if taken.is_ok() {
        return true;
    }
    let spare = |left: u32| left.checked_sub(1);
    let spared = SPARED.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spare);
    if spared.is_ok() {
        return false;
    }
    let room = room_in(cgroup::memory_left());
    let is_enough = room >= len;
    SCARCE.store(!is_enough, Ordering::Relaxed);
    match is_enough {
        true => ROOM.store(room - len, Ordering::Relaxed),
        false => SPARED.store(16, Ordering::Relaxed),
    }
    is_enough
}

/// How much may be advised before the next question, where so much is left.
/// Without a limit there is no next one for a long time.
fn room_in(left: usize) -> usize {
    left / 2
}

/// Says once why there are none. What the machine offers, hugectl has said
/// before it started the program.
fn say_why(why: NoThp) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let level = match why {
        NoThp::Absent | NoThp::Never | NoThp::SharedNever => Level::Info,
        NoThp::Disabled | NoThp::Scarce => config::get().level(),
    };
    say_once(
        &SAID,
        level,
        format_args!("{}: base pages follow", why.reason()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_leaves_half_of_what_is_left() {
        assert_eq!(room_in(100 << 20), 50 << 20);
        assert_eq!(room_in(0), 0);
        assert!(room_in(usize::MAX) > 1 << 60);
    }
}
