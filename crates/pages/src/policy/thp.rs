//! Transparent huge pages: asking for them, and noticing that they cannot be
//! had.
#![expect(unsafe_code, reason = "advises memory by address")]

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use hugetools_contract::env::{Fallback, Pages};
pub use hugetools_contract::ladder::NoThp;
use hugetools_contract::ladder::{Mode, ThpFacts, wants_thp};
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::choice::chosen;

use crate::extent::unit::State;
use crate::kernel::cgroup::{self, Left};
use crate::kernel::{facts, populate, procfile};
use crate::rt::message::{Level, say_news, say_once};
use crate::sys::{Call, Errno};
use crate::{config, sys};

/// The setting for private memory.
const ENABLED: &CStr = c"/sys/kernel/mm/transparent_hugepage/enabled";

/// Whether `prctl(PR_SET_THP_DISABLE)` is in force.
static DISABLED: AtomicBool = AtomicBool::new(false);

/// Notes whether it was when the program began ([`crate::kernel::facts::begin`]), and finds out
/// what the machine offers, for times when nothing can be asked.
pub(crate) fn begin(enabled: Option<u64>) {
    let is_off = match enabled {
        Some(enabled) => enabled == 0,
        None => sys::thp_disabled().unwrap_or(false),
    };
    DISABLED.store(is_off, Ordering::Relaxed);
    let _ = offered();
    let left = cgroup::memory_left();
    ROOM.store(room_of(left), Ordering::Relaxed);
}

/// In a child, which has what the control group leaves beside its parent.
pub(crate) fn look_again() {
    if is_limited() {
        ROOM.store(0, Ordering::Relaxed);
    }
}

/// Whether a control group was found to limit memory when it was asked last.
fn is_limited() -> bool {
    ROOM.load(Ordering::Relaxed) < usize::MAX / 4
}

/// Notes that the program turned them off, or on again.
pub fn note_disabled(yes: bool) {
    DISABLED.store(yes, Ordering::Relaxed);
}

/// Whether transparent huge pages are off for this process, as far as is known.
pub(crate) fn is_disabled() -> bool {
    DISABLED.load(Ordering::Relaxed)
}

/// Whether private memory gets transparent huge pages. Reads the kernel's setting.
pub fn serves_private() -> Result<(), NoThp> {
    thp_facts(read_mode(ENABLED)).verdict()?;
    match is_scarce() {
        true => Err(NoThp::Scarce),
        false => Ok(()),
    }
}

/// What decides, apart from the memory control group: [`has_room`] asks that only when it
/// matters.
fn thp_facts(mode: Mode) -> ThpFacts {
    ThpFacts {
        mode,
        is_disabled: is_disabled(),
        is_barred: sys::is_barred(Call::Madvise),
        ..ThpFacts::ON
    }
}

/// Whether a test of them can be: not where there are none, nor where the control groups
/// cannot be seen. It is said aloud.
#[cfg(test)]
pub(crate) fn can_be_tried(test: &str) -> bool {
    use std::io::Write;
    let are_there = serves_private().is_ok() && room() >= crate::kernel::facts::thp_size();
    if !are_there {
        let text = format!(
            "\nSKIPPED {test}: no transparent huge pages, or no look at the control group\n"
        );
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    are_there
}

/// Reads the mode of `enabled` or `shmem_enabled`. Every kernel with transparent huge
/// pages has the directory; if `/sys/kernel/mm` is hidden, trying tells.
fn read_mode(path: &CStr) -> Mode {
    let find = || {
        let mut buffer = [0; 96];
        Some(match chosen(procfile::head(path, &mut buffer)) {
            Some(word) => Mode::of_word(word),
            None if is_hidden() => Mode::Hidden,
            None => Mode::Absent,
        })
    };
    procfile::look(find).unwrap_or(Mode::Unknown)
}

/// Whether nothing can be seen of the kernel's settings, as in a chroot without
/// `/sys`, or where something empty lies over them, as in a container: a folder has two
/// links, and one for each folder in it.
fn is_hidden() -> bool {
    const OWN: libc::nlink_t = 2;
    sys::links(c"/sys/kernel/mm").is_none_or(|links| links <= OWN)
}

/// Whether shared memory gets transparent huge pages. Reads the kernel's setting.
pub fn serves_shared() -> Result<(), NoThp> {
    let mode = read_mode(c"/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    let facts = ThpFacts {
        is_shared: true,
        ..thp_facts(mode)
    };
    facts.verdict()
}

/// Advises memory to be on the pages of the fallback; what it is then.
///
/// # Safety
/// The range must be mapped by us.
pub unsafe fn advise(addr: usize, len: usize) -> State {
    let wanted = config::get().fallback != Fallback::Base;
    let served = match wanted {
        true => match serves(len) {
            Ok(()) => {
                say_hidden();
                true
            }
            Err(why) => {
                say_why(why);
                false
            }
        },
        false => false,
    };
    let (advice, state) = match served {
        true => (libc::MADV_HUGEPAGE, State::Thp),
        false => (libc::MADV_NOHUGEPAGE, State::Base),
    };
    // SAFETY: the advice changes no contents.
    match unsafe { sys::madvise(addr, len, advice) } {
        Ok(()) => state,
        Err(Errno(libc::EPERM | libc::EACCES | libc::ENOSYS)) => refused(state),
        // Without CONFIG_TRANSPARENT_HUGEPAGE.
        Err(_) => State::Base,
    }
}

/// What memory is on that could not be advised, which a kernel never refuses by itself.
fn refused(wanted: State) -> State {
    sys::bar(Call::Madvise);
    match thp_facts(offered()).verdict() {
        Ok(()) => wanted,
        Err(why) => {
            if wanted == State::Thp {
                say_why(why);
            }
            State::Base
        }
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

/// Has memory on transparent huge pages now, whole ones from its beginning on. Since
/// Linux 6.1.
///
/// # Errors
/// When there is no huge page for some of it, or the kernel is older (`EINVAL`).
///
/// # Safety
/// The range must be mapped by us, zero, and not handed out yet.
pub unsafe fn have(addr: usize, len: usize) -> sys::Result<()> {
    let size = facts::thp_size();
    for at in (addr..addr + len / size * size).step_by(size) {
        let page = sys::page_size();
        // SAFETY: as the caller says. The first touch gets a huge page, where there is one.
        unsafe { populate::populate(at + size - page, page, page)? };
        // SAFETY: likewise.
        unsafe { collapse(at, size)? };
    }
    Ok(())
}

/// Whether so many bytes that the program has mapped by itself may be on them; says once
/// why not.
pub(crate) fn serves_mapping(len: usize) -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    is_served(len, ("private mappings", Kind::Mappings), &SAID)
}

/// Whether so many bytes of a stack may be on them; says once why not.
pub(crate) fn serves_stack(len: usize) -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    is_served(len, ("stacks", Kind::Stacks), &SAID)
}

fn is_served(len: usize, (what, kind): (&str, Kind), said: &AtomicBool) -> bool {
    let served = serves(len);
    if let Err(why) = served {
        let reason = why.reason();
        say_news(
            said,
            || level_of(why, kind),
            format_args!("{what}: {reason}: base pages follow"),
        );
    }
    served.is_ok()
}

/// Whether a reservation may be advised: how much of it will be used is unknown.
pub(crate) fn serves_reservation() -> bool {
    !is_limited() && thp_facts(offered()).verdict().is_ok()
}

/// Whether `len` bytes may be on transparent huge pages now. The program may have
/// disabled them, as Redis does.
pub(crate) fn serves(len: usize) -> Result<(), NoThp> {
    thp_facts(offered()).verdict()?;
    match has_room(len) {
        true => Ok(()),
        false => Err(NoThp::Scarce),
    }
}

/// The mode for private memory, read once.
fn offered() -> Mode {
    const ALL: [Mode; 6] = [
        Mode::Absent,
        Mode::Hidden,
        Mode::Unknown,
        Mode::Never,
        Mode::Madvise,
        Mode::Always,
    ];
    const UNREAD: u8 = u8::MAX;
    static KNOWN: AtomicU8 = AtomicU8::new(UNREAD);
    if let Some(mode) = ALL.get(usize::from(KNOWN.load(Ordering::Relaxed))) {
        return *mode;
    }
    let mode = read_mode(ENABLED);
    KNOWN.store(mode as u8, Ordering::Relaxed);
    mode
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
    let room = room();
    let is_enough = room >= len;
    SCARCE.store(!is_enough, Ordering::Relaxed);
    match is_enough {
        true => ROOM.store(room - len, Ordering::Relaxed),
        false => SPARED.store(16, Ordering::Relaxed),
    }
    is_enough
}

/// How much may be advised before the next question.
fn room() -> usize {
    room_of(cgroup::memory_left())
}

fn room_of(left: Left) -> usize {
    HIDDEN.store(left == Left::Hidden, Ordering::Relaxed);
    room_in(left, sys::free_memory)
}

/// Whether nothing could be seen of control groups when they were asked last.
static HIDDEN: AtomicBool = AtomicBool::new(false);

/// Says once what could not be seen.
fn say_hidden() {
    static SAID: AtomicBool = AtomicBool::new(false);
    if HIDDEN.load(Ordering::Relaxed) {
        let text = "what the memory control group allows cannot be seen: transparent huge pages \
                    are asked for by what is free on the machine";
        say_once(&SAID, Level::Info, format_args!("{text}"));
    }
}

/// Whether a copy of so much may be on them that takes its memory beside the original,
/// which stays with the kernel's page cache: an eighth of what the control group has left
/// at most. Else that is said once: the kernel kills whoever is beyond the limit.
pub(crate) fn serves_copy(len: usize) -> Result<(), NoThp> {
    serves_private()?;
    let is_enough = len <= room() / 4;
    if is_enough {
        return Ok(());
    }
    say_why(NoThp::Scarce);
    Err(NoThp::Scarce)
}

/// How much may be advised before the next question, where so much is left.
/// Without a limit there is no next one for a long time. Where nothing can be seen of
/// control groups, by what is free on the machine; where even that may not be asked,
/// whatever there is: a group that is full gives base pages by itself. Where it cannot
/// be told for another reason, a base page harms nobody.
fn room_in(left: Left, free: impl FnOnce() -> Option<usize>) -> usize {
    match left {
        Left::NoLimit => usize::MAX / 2,
        Left::Bytes(left) => left / 2,
        Left::Hidden => free().unwrap_or(usize::MAX) / 2,
        Left::Unknown => 0,
    }
}

/// Says once why there are none.
fn say_why(why: NoThp) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let level = || level_of(why, Kind::Thp);
    let heap = config::get().heap;
    let next = match heap.is_some_and(|pages| pages != Pages::Thp) {
        // It may have pages of a pool all the same.
        true => "what no pool serves is on base pages",
        false => "base pages follow",
    };
    say_news(&SAID, level, format_args!("{}: {next}", why.reason()));
}

/// What the machine offers, hugectl has said before it started the program.
fn level_of(why: NoThp, kind: Kind) -> Level {
    match why {
        NoThp::Absent | NoThp::Never | NoThp::SharedNever | NoThp::SizeNever => Level::Info,
        NoThp::Refused => config::level(kind),
        NoThp::Disabled | NoThp::Scarce | NoThp::Unknown => config::level_of_news(kind),
    }
}

/// Whether a heap may be on transparent huge pages, as far as it was asked.
pub(crate) fn may_serve_heap() -> bool {
    let config = config::get();
    config.heap.is_some() && config.fallback != Fallback::Base
}

/// What private memory is on that leaves the pages of pools, and how loud that is to
/// be said.
pub(crate) fn below_pools() -> (Level, &'static str) {
    match config::get().fallback {
        Fallback::Thp | Fallback::None if serves_private().is_ok() => {
            (Level::Info, "transparent huge pages")
        }
        _ => (Level::Warning, "base pages"),
    }
}

/// Whether so many bytes, for which no pool has pages, are to be on transparent huge
/// pages.
pub fn is_fallback_for(len: usize) -> bool {
    wants_thp(true, config::get().fallback) && len >= facts::thp_size()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_leaves_half_of_what_is_left() {
        let room = |left| room_in(left, || Some(8 << 20));
        assert_eq!(room(Left::Bytes(100 << 20)), 50 << 20);
        assert_eq!(room(Left::Bytes(0)), 0);
        assert!(room(Left::NoLimit) > 1 << 60);
        // What is free on the machine bounds what cannot be seen.
        assert_eq!(room(Left::Hidden), 4 << 20);
        assert!(room_in(Left::Hidden, || None) > 1 << 60);
        assert_eq!(room(Left::Unknown), 0);
    }
}
