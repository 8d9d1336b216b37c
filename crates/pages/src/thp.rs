//! Transparent huge pages: asking for them, and noticing that they cannot be
//! had.
#![expect(unsafe_code, reason = "advises memory by address")]

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use hugetools_contract::env::Fallback;

use crate::say::{Level, say_once};
use crate::unit::State;
use crate::{cgroup, config, file, sys};

/// Why transparent huge pages are out of reach, for private or shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoThp {
    /// The kernel has none.
    Absent,
    /// `transparent_hugepage/enabled` is `never`.
    Never,
    /// `transparent_hugepage/shmem_enabled` does not serve `madvise`.
    SharedNever,
    /// `prctl(PR_SET_THP_DISABLE)` is in force.
    Disabled,
    /// The memory control group has too little left for whole huge pages.
    Scarce,
}

impl NoThp {
    /// The reason in words.
    pub fn reason(self) -> &'static str {
        match self {
            NoThp::Absent => "this kernel has no transparent huge pages",
            NoThp::Never => "/sys/kernel/mm/transparent_hugepage/enabled is never",
            NoThp::SharedNever => {
                "/sys/kernel/mm/transparent_hugepage/shmem_enabled does not say advise"
            }
            NoThp::Disabled => "transparent huge pages are disabled by prctl",
            NoThp::Scarce => "the memory control group has little left",
        }
    }
}

/// Whether private memory gets transparent huge pages.
pub fn serves_private() -> Result<(), NoThp> {
    if sys::thp_disabled() {
        return Err(NoThp::Disabled);
    }
    read_offer()?;
    match is_scarce() {
        true => Err(NoThp::Scarce),
        false => Ok(()),
    }
}

/// Whether this machine gives private memory transparent huge pages.
fn read_offer() -> Result<(), NoThp> {
    let mut buffer = [0; 64];
    match file::head(c"/sys/kernel/mm/transparent_hugepage/enabled", &mut buffer) {
        [] => Err(NoThp::Absent),
        text if contains(text, b"[never]") => Err(NoThp::Never),
        _ => Ok(()),
    }
}

/// Whether shared memory gets transparent huge pages.
pub fn serves_shared() -> Result<(), NoThp> {
    if sys::thp_disabled() {
        return Err(NoThp::Disabled);
    }
    let mut buffer = [0; 96];
    let path = c"/sys/kernel/mm/transparent_hugepage/shmem_enabled";
    match file::head(path, &mut buffer) {
        [] => Err(NoThp::Absent),
        text if contains(text, b"[never]") || contains(text, b"[deny]") => Err(NoThp::SharedNever),
        _ => Ok(()),
    }
}

fn contains(text: &[u8], word: &[u8]) -> bool {
    text.windows(word.len()).any(|part| part == word)
}

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
    let find = || match read_offer() {
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
