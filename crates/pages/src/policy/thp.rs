//! Transparent huge pages: asking for them, and noticing that they cannot be
//! had.
#![expect(unsafe_code, reason = "advises memory by address")]

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicUsize, Ordering};

use hugetools_contract::env::{Fallback, Pages};
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::choice::chosen;

use crate::extent::unit::State;
use crate::kernel::cgroup::{self, Left};
use crate::kernel::{facts, populate, procfile};
use crate::rt::message::{Level, say_news, say_once};
use crate::sys::{Call, Errno};
use crate::{config, sys};

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
    /// The memory control group has too little left for whole huge pages, or what it
    /// has cannot be told.
    Scarce,
    /// It cannot be told: the program allows no look.
    Unknown,
    /// A filter of system calls does not let `madvise` through, which asks for them.
    Refused,
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
            NoThp::Scarce => "the memory control group has little left, or cannot be seen",
            NoThp::Unknown => "it cannot be told whether there are transparent huge pages",
            NoThp::Refused => {
                "a filter of system calls does not let madvise through, which asks for \
                 transparent huge pages"
            }
        }
    }
}

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

/// Whether private memory gets transparent huge pages.
pub fn serves_private() -> Result<(), NoThp> {
    if is_disabled() {
        return Err(NoThp::Disabled);
    }
    read_offer()?;
    may_advise()?;
    match is_scarce() {
        true => Err(NoThp::Scarce),
        false => Ok(()),
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

/// Whether this machine gives private memory transparent huge pages.
fn read_offer() -> Result<(), NoThp> {
    let find = || {
        let mut buffer = [0; 64];
        let path = c"/sys/kernel/mm/transparent_hugepage/enabled";
        Some(match procfile::head(path, &mut buffer) {
            [] => absent(),
            text if chosen(text) == Some(b"never") => Err(NoThp::Never),
            text => {
                UNASKED.store(chosen(text) == Some(b"always"), Ordering::Relaxed);
                Ok(())
            }
        })
    };
    procfile::look(find).unwrap_or(Err(NoThp::Unknown))
}

/// Whether private memory gets them unasked.
static UNASKED: AtomicBool = AtomicBool::new(false);

/// Whether they can be asked for, or come unasked.
fn may_advise() -> Result<(), NoThp> {
    match sys::is_barred(Call::Madvise) && !UNASKED.load(Ordering::Relaxed) {
        true => Err(NoThp::Refused),
        false => Ok(()),
    }
}

/// What a setting that is not there says: no kernel is without the folder that
/// it would be in. Where that is hidden, trying tells.
fn absent() -> Result<(), NoThp> {
    match is_hidden() {
        true => Ok(()),
        false => Err(NoThp::Absent),
    }
}

/// Whether nothing can be seen of the kernel's settings, as in a chroot without
/// `/sys`, or where something empty lies over them, as in a container: a folder has two
/// links, and one for each folder in it.
fn is_hidden() -> bool {
    const OWN: libc::nlink_t = 2;
    sys::links(c"/sys/kernel/mm").is_none_or(|links| links <= OWN)
}

/// Whether shared memory gets transparent huge pages.
pub fn serves_shared() -> Result<(), NoThp> {
    if is_disabled() {
        return Err(NoThp::Disabled);
    }
    if sys::is_barred(Call::Madvise) {
        return Err(NoThp::Refused);
    }
    let find = || {
        let mut buffer = [0; 96];
        let path = c"/sys/kernel/mm/transparent_hugepage/shmem_enabled";
        Some(match procfile::head(path, &mut buffer) {
            [] => absent(),
            text => match chosen(text) {
                Some(b"never" | b"deny") => Err(NoThp::SharedNever),
                _ => Ok(()),
            },
        })
    };
    procfile::look(find).unwrap_or(Err(NoThp::Unknown))
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
    match may_advise() {
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

/// Whether address space may be advised of which nobody knows how much will be used.
pub(crate) fn serves_reservation() -> bool {
    !is_limited() && !is_disabled() && offered().is_ok() && may_advise().is_ok()
}

/// Whether so many bytes may be on transparent huge pages now. The program may
/// have turned them off by itself, as Redis does.
pub(crate) fn serves(len: usize) -> Result<(), NoThp> {
    if is_disabled() {
        return Err(NoThp::Disabled);
    }
    offered()?;
    may_advise()?;
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
    const NOT_TOLD: u8 = 4;
    static KNOWN: AtomicU8 = AtomicU8::new(UNKNOWN);
    let find = || match read_offer() {
        Ok(()) => YES,
        Err(NoThp::Absent) => ABSENT,
        Err(NoThp::Unknown) => NOT_TOLD,
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
        NOT_TOLD => Err(NoThp::Unknown),
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
        NoThp::Absent | NoThp::Never | NoThp::SharedNever => Level::Info,
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
    config::get().fallback == Fallback::Thp && len >= facts::thp_size()
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
