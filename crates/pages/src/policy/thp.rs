//! Transparent huge pages: whether memory can get them, and `madvise`.
#![expect(unsafe_code, reason = "advises memory by address")]

use core::ffi::CStr;
use core::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use hugetools_contract::env::Fallback;
pub use hugetools_contract::ladder::NoThp;
use hugetools_contract::ladder::{Mode, ThpFacts, wants_thp};
use hugetools_contract::ledger::Kind;
use hugetools_kernfs::choice::chosen;

use crate::extent::unit::State;
use crate::kernel::{facts, populate, procfile};
use crate::rt::message::{Level, say_once_at};
use crate::rt::path::Path;
use crate::sys::{Call, Errno};
use crate::{config, sys};

mod room;

pub(crate) use room::{discard_room, is_scarce};

const DIR: &str = "/sys/kernel/mm/transparent_hugepage";

/// Whether `prctl(PR_SET_THP_DISABLE)` is in force.
static DISABLED: AtomicBool = AtomicBool::new(false);

/// Records `PR_SET_THP_DISABLE` at the start, and reads the settings before they become
/// unreadable.
pub(crate) fn begin(enabled: Option<u64>) {
    let is_off = match enabled {
        Some(enabled) => enabled == 0,
        None => sys::thp_disabled().unwrap_or(false),
    };
    DISABLED.store(is_off, Ordering::Relaxed);
    let _ = offered();
    room::begin();
}

/// Notes that the program has disabled or enabled transparent huge pages for itself.
pub fn note_disabled(yes: bool) {
    DISABLED.store(yes, Ordering::Relaxed);
}

/// Whether transparent huge pages are disabled for this process.
pub(crate) fn is_disabled() -> bool {
    DISABLED.load(Ordering::Relaxed)
}

/// Whether private memory gets transparent huge pages. Reads the kernel's setting.
pub fn serves_private() -> Result<(), NoThp> {
    thp_facts(read_private_mode()).verdict()?;
    match is_scarce() {
        true => Err(NoThp::Scarce),
        false => Ok(()),
    }
}

/// Returns the facts without the memory control group, which [`room`] reads only if needed.
fn thp_facts(mode: Mode) -> ThpFacts {
    ThpFacts {
        mode,
        is_size_never: SIZE_NEVER.load(Ordering::Relaxed),
        is_disabled: is_disabled(),
        is_barred: sys::is_rejected(Call::Madvise),
        ..ThpFacts::ON
    }
}

/// Whether a test gets transparent huge pages and can read the control group. Prints that it is
/// skipped if not.
#[cfg(test)]
pub(crate) fn can_be_tried(test: &str) -> bool {
    use std::io::Write;
    let serves = serves_private().is_ok() && room::read() >= crate::kernel::facts::thp_size();
    if !serves {
        let text = format!(
            "\nSKIPPED {test}: no transparent huge pages, or no look at the control group\n"
        );
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
    serves
}

/// Whether `hugepages-*kB/enabled` of this size (Linux 6.8) was `never` when it was last read.
static SIZE_NEVER: AtomicBool = AtomicBool::new(false);

/// Reads the mode for private memory, and [`SIZE_NEVER`].
fn read_private_mode() -> Mode {
    let kib = facts::thp_size() >> 10;
    let own = Path::of(format_args!("{DIR}/hugepages-{kib}kB/enabled"));
    match own.map_or(Mode::Unknown, |path| read_mode(path.c_str())) {
        Mode::Unknown => {}
        mode => SIZE_NEVER.store(mode == Mode::Never, Ordering::Relaxed),
    }
    read_mode(c"/sys/kernel/mm/transparent_hugepage/enabled")
}

/// Reads the mode from `enabled` or `shmem_enabled`. Without the file the kernel has no transparent
/// huge pages, unless `/sys/kernel/mm` is hidden.
fn read_mode(path: &CStr) -> Mode {
    let find = || {
        let mut buffer = [0; 96];
        Some(match chosen(procfile::known_head(path, &mut buffer)?) {
            Some(word) => Mode::of_word(word),
            None if is_hidden() => Mode::Hidden,
            None => Mode::Absent,
        })
    };
    procfile::if_allowed(find).unwrap_or(Mode::Unknown)
}

/// Whether `/sys/kernel/mm` is hidden: no `/sys` in a chroot, or an empty mount over it in a
/// container. A directory has two links, plus one for each subdirectory.
fn is_hidden() -> bool {
    const OWN: libc::nlink_t = 2;
    sys::link_count(c"/sys/kernel/mm").is_none_or(|links| links <= OWN)
}

/// Whether shared memory gets transparent huge pages. Reads the kernel's setting.
pub fn serves_shared() -> Result<(), NoThp> {
    let mode = read_mode(c"/sys/kernel/mm/transparent_hugepage/shmem_enabled");
    let facts = ThpFacts {
        is_shared: true,
        is_size_never: false,
        ..thp_facts(mode)
    };
    facts.verdict()
}

/// Advises memory as the fallback setting says; returns the resulting state.
///
/// # Safety
/// The range must be mapped by us.
pub unsafe fn advise(addr: usize, len: usize) -> State {
    const BASE: (i32, State) = (libc::MADV_NOHUGEPAGE, State::Base);
    let (advice, state) = match config::get().fallback {
        Fallback::Base => BASE,
        Fallback::Thp | Fallback::None => match serves(len) {
            Ok(()) => (libc::MADV_HUGEPAGE, State::Thp),
            Err(why) => {
                say_why(why);
                BASE
            }
        },
    };
    // SAFETY: the advice changes no contents.
    match unsafe { sys::madvise(addr, len, advice) } {
        Ok(()) => state,
        Err(Errno(libc::EPERM | libc::EACCES | libc::ENOSYS)) => refused(state),
        // No CONFIG_TRANSPARENT_HUGEPAGE.
        Err(_) => State::Base,
    }
}

/// The state after `madvise` failed with an error that only a seccomp filter returns.
fn refused(wanted: State) -> State {
    sys::note_rejected(Call::Madvise);
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

/// Collapses touched base pages into transparent huge pages now (Linux 6.1); on older kernels only
/// khugepaged does so, later. Fails if no huge page is free or no page was touched.
///
/// # Safety
/// The range must be mapped by us.
pub unsafe fn collapse(addr: usize, len: usize) -> sys::Result<()> {
    const MADV_COLLAPSE: i32 = 25;
    // SAFETY: the advice changes no contents.
    unsafe { sys::madvise(addr, len, MADV_COLLAPSE) }
}

/// Populates transparent huge pages now. Fails if none is free, or before Linux 6.1 (`EINVAL`).
///
/// # Safety
/// The range must be mapped by us, zero, and not handed out yet.
pub unsafe fn populate(addr: usize, len: usize) -> sys::Result<()> {
    let size = facts::thp_size();
    for at in (addr..addr + len / size * size).step_by(size) {
        let page = sys::page_size();
        // SAFETY: upheld by the caller. The first touch gets a huge page if there is one.
        unsafe { populate::populate(at + size - page, page, page)? };
        // SAFETY: likewise.
        unsafe { collapse(at, size)? };
    }
    Ok(())
}

/// Whether a private mapping of the program gets transparent huge pages; reports once why not.
pub(crate) fn serves_mapping(len: usize) -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    is_served(len, ("private mappings", Kind::Mappings), &SAID)
}

/// Whether a stack gets transparent huge pages; reports once why not.
pub(crate) fn serves_stack(len: usize) -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    is_served(len, ("stacks", Kind::Stacks), &SAID)
}

fn is_served(len: usize, (what, kind): (&str, Kind), said: &AtomicBool) -> bool {
    let served = serves(len);
    if let Err(why) = served {
        let (reason, cure) = (why.reason(), cure(why));
        say_once_at(
            said,
            || level_of(why, kind),
            format_args!("{what}: {reason}: using base pages{cure}"),
        );
    }
    served.is_ok()
}

/// Whether a reservation may be advised as a whole. In a limited control group it may not: how much
/// of it will be touched is unknown.
pub(crate) fn serves_reservation() -> bool {
    !room::is_limited() && thp_facts(offered()).verdict().is_ok()
}

/// Whether `len` bytes may be on transparent huge pages now; takes them from the [`room`]. The
/// program may have disabled such pages, as Redis does.
pub(crate) fn serves(len: usize) -> Result<(), NoThp> {
    thp_facts(offered()).verdict()?;
    match room::take(len) {
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
    let mode = read_private_mode();
    KNOWN.store(mode as u8, Ordering::Relaxed);
    mode
}

/// Whether a copy beside the original gets transparent huge pages. It may take an eighth of what
/// the control group has left, since the kernel kills a process beyond the limit.
pub(crate) fn serves_copy(len: usize) -> Result<(), NoThp> {
    serves_private()?;
    if len > room::read() / 4 {
        say_why(NoThp::Scarce);
        return Err(NoThp::Scarce);
    }
    Ok(())
}

/// Reports once why memory gets no transparent huge pages.
fn say_why(why: NoThp) {
    static SAID: AtomicBool = AtomicBool::new(false);
    let level = || level_of(why, Kind::Thp);
    let next = match config::heap_is_of_pool() {
        // Pools may still serve the heap.
        true => "memory without pool pages is on base pages",
        false => "using base pages",
    };
    let (reason, cure) = (why.reason(), cure(why));
    say_once_at(&SAID, level, format_args!("{reason}: {next}{cure}"));
}

/// Returns the advice after a message; empty if there is none.
const fn cure(why: NoThp) -> &'static str {
    match why {
        NoThp::Disabled => " (hugectl --thp-policy=always lifts that)",
        _ => "",
    }
}

/// Returns the level of a report. hugectl has reported the machine's settings before the start.
fn level_of(why: NoThp, kind: Kind) -> Level {
    match why {
        NoThp::Absent | NoThp::Never | NoThp::SharedNever | NoThp::SizeNever => Level::Info,
        NoThp::Refused => config::level(kind),
        NoThp::Disabled | NoThp::Scarce | NoThp::Unknown => config::level_unpredicted(kind),
    }
}

/// The rung below the pools for memory that moves, and the level of the message.
pub(crate) fn below_pools() -> (Level, &'static str) {
    match config::get().fallback {
        Fallback::Thp | Fallback::None if serves_private().is_ok() => {
            (Level::Info, "transparent huge pages")
        }
        _ => (Level::Warning, "base pages"),
    }
}

/// Whether transparent huge pages are the fallback for a request of this length.
pub fn is_fallback_for(len: usize) -> bool {
    wants_thp(true, config::get().fallback) && len >= facts::thp_size()
}
