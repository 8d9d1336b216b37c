//! The settings of this process, copied from its environment once.
//!
//! **Invariants.** They never change. Strings are copied, because programs overwrite their
//! environment (PostgreSQL's process titles). An invalid value is ignored and mostly
//! reported; an invalid `HUGETLB_ELFMAP` means `no`.
//!
//! **Locks.** None: the first caller fills a cell; meanwhile others get empty settings.
//!
//! **At a fork.** The child keeps them.
#![expect(unsafe_code, reason = "reads a write-once cell")]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU8, Ordering};

use hugetools_contract::env::{self, Elfmap, Fallback, Pages, Report, Settings, Share, Source};

use crate::kernel::procfile;
use crate::rt::message::{Level, is_enabled};
use crate::rt::outlet;
use crate::sys;
use environment::Variables;
use hugetools_contract::ledger::Kind;
use hugetools_contract::segment::Segment;

pub mod environment;
pub mod leaked_copy;
mod once;
pub mod starter_message;

/// The settings of this process.
pub type Config = Settings<'static>;

/// The settings until the environment is known. No segment is remapped: the environment may forbid
/// it.
static NOTHING: Config = Settings {
    elfmap: Elfmap::OFF,
    ..Settings::NOTHING
};

const PATH_MAX: usize = env::PATH_MAX;

/// The path of the report file.
pub fn report_path() -> Option<&'static CStr> {
    match get().report? {
        // SAFETY: a leaked copy with a zero byte behind it.
        Report::File(path) => Some(unsafe { CStr::from_ptr(path.as_ptr().cast()) }),
        Report::Terminal { .. } => None,
    }
}

/// Returns the level for a shortage of huge pages: info if hugectl or a process of the same start
/// has printed this kind, otherwise warning. If that is unknown and `warning_pid` is set, only that
/// process warns.
pub fn level(kind: Kind) -> Level {
    match get().warning_pid {
        // Under the program's own filter no message is written.
        Some(_) if sys::filter() == sys::Filter::Own => Level::Info,
        // hugectl has printed the warning.
        Some(0) => Level::Info,
        Some(pid) if pid != sys::getpid() => level_if_first(kind),
        _ => level_once(kind),
    }
}

/// Like [`level`], for a shortage that hugectl couldn't predict.
pub fn level_unpredicted(kind: Kind) -> Level {
    let config = get();
    let starter = config.starter.map(|starter| starter.pid);
    match sys::filter() {
        sys::Filter::Own => level(kind),
        _ if config.warning_pid != Some(0) => level(kind),
        _ if starter == Some(sys::getpid()) => level_once(kind),
        _ => level_if_first(kind),
    }
}

/// Returns info if a process is known to have printed this kind, otherwise warning.
pub fn level_once(kind: Kind) -> Level {
    match may_look_up() && once::claim(kind) == Some(false) {
        true => Level::Info,
        false => Level::Warning,
    }
}

/// Returns warning only if the shared record shows that no process has printed this kind.
fn level_if_first(kind: Kind) -> Level {
    match may_look_up() && outlet::is_open() && once::claim(kind) == Some(true) {
        true => Level::Warning,
        false => Level::Info,
    }
}

/// Whether the record of printed warnings matters and may be opened.
fn may_look_up() -> bool {
    is_enabled(Level::Warning) && sys::filter() != sys::Filter::Own
}

struct Cell {
    state: AtomicU8,
    config: UnsafeCell<Config>,
}

// SAFETY: only the thread that moves `state` from UNREAD to READING writes `config`; nobody reads
// it before READY.
unsafe impl Sync for Cell {}

const UNREAD: u8 = 0;
const READING: u8 = 1;
const READY: u8 = 2;

static CELL: Cell = Cell {
    state: AtomicU8::new(UNREAD),
    config: UnsafeCell::new(Settings::NOTHING),
};

/// Returns the settings. Before the environment is known they are empty.
pub fn get() -> &'static Config {
    if CELL.state.load(Ordering::Acquire) == READY {
        // SAFETY: READY: nobody writes any more.
        return unsafe { &*CELL.config.get() };
    }
    read()
}

/// Whether [`get`] returns the final settings.
pub fn is_known() -> bool {
    get();
    CELL.state.load(Ordering::Acquire) == READY
}

#[cold]
fn read() -> &'static Config {
    let claimed = CELL
        .state
        .compare_exchange(UNREAD, READING, Ordering::Acquire, Ordering::Relaxed)
        .is_ok();
    if !claimed {
        // Another thread, or this one in an outer frame, is reading.
        return &NOTHING;
    }
    if !sys::is_secure() {
        let Some(variables) = Variables::find() else {
            CELL.state.store(UNREAD, Ordering::Release);
            return &NOTHING;
        };
        // Thousands of bytes, filled only if needed.
        let mut buffer = MaybeUninit::uninit();
        let program = program(&variables, &mut buffer);
        let get = |name: &str| variables.get(name);
        let source = Source::new(&get, leaked_copy::keep, program, sys::getpid());
        // SAFETY: this thread moved the state to READING, so it alone writes.
        unsafe { *CELL.config.get() = Settings::of(source) };
    }
    CELL.state.store(READY, Ordering::Release);
    // SAFETY: READY: nobody writes any more.
    unsafe { &*CELL.config.get() }
}

/// Returns the base name of `argv[0]`; empty if no setting needs it.
fn program<'a>(variables: &Variables, buffer: &'a mut MaybeUninit<[u8; PATH_MAX]>) -> &'a [u8] {
    if variables.get(env::RESTRICT_EXE).is_none() {
        return &[];
    }
    let text = procfile::head(c"/proc/self/cmdline", buffer.write([0; PATH_MAX]));
    let first = text.split(|b| *b == 0).next().unwrap_or(&[]);
    first.rsplit(|b| *b == b'/').next().unwrap_or(&[])
}

/// Share of the heap that `--require` demands.
pub fn share_of_heap() -> Option<Share> {
    share_of(Segment::Heap)
}

/// Share of the heap, shared memory, anonymous mappings or stacks that `--require` demands, if they
/// are requested; `None` for text, data and bss.
pub fn share_of(segment: Segment) -> Option<Share> {
    let config = get();
    let asked = match segment {
        Segment::Heap => config.heap,
        Segment::Shm => config.shm,
        Segment::Anon => config.anon,
        Segment::Stack => config.stack,
        _ => None,
    };
    asked.and(config.require.share(segment))
}

/// Whether the heap is to use a pool.
pub fn heap_is_of_pool() -> bool {
    get().heap.is_some_and(|pages| pages != Pages::Thp)
}

/// Whether heap requests may fail for lack of huge pages.
pub fn heap_is_strict() -> bool {
    share_of_heap().is_some() || get().fallback == Fallback::None && heap_is_of_pool()
}
