//! What this process was asked to do, copied out of its environment once.
//!
//! **Invariants.** It is read once, and never changes: copied, because programs write
//! over the strings of their environment, as PostgreSQL's process titles do. What is not
//! understood is said, and is as if it were not there.
//!
//! **Locks.** None: the first who asks fills a cell, others wait for it.
//!
//! **At a fork.** The child has the same.
#![expect(unsafe_code, reason = "reads a write-once cell")]

use core::cell::UnsafeCell;
use core::ffi::CStr;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicU8, Ordering};

use hugetools_contract::env::{self, Elfmap, Fallback, Pages, Report, Settings, Share};

use crate::kernel::procfile;
use crate::rt::message::{Level, is_heard};
use crate::rt::outlet;
use crate::sys;
use environment::Variables;
use hugetools_contract::ledger::Kind;
use hugetools_contract::segment::Segment;
use said::News;

pub mod environment;
pub mod leaked_copy;
mod said;
pub mod starter_message;

/// What this process was asked to do.
pub type Config = Settings<'static>;

/// Before the environment was read, and in set-user-id programs.
static NOTHING: Config = Settings {
    elfmap: Elfmap::OFF,
    ..Settings::NOTHING
};

/// As the reader of the settings has it.
const PATH_MAX: usize = env::PATH_MAX;

/// The file for the report.
pub fn report_path() -> Option<&'static CStr> {
    match get().report? {
        // SAFETY: there is a report to a file once the state is READY only: nobody
        // writes any more.
        Report::File(_) => CStr::from_bytes_until_nul(unsafe { &*PATH.0.get() }).ok(),
        Report::Terminal { .. } => None,
    }
}

/// How important it is to this process's user that it runs out of huge pages: of each
/// kind of line the first one in all that hugectl has started is a warning.
pub fn level(kind: Kind) -> Level {
    match get().speaker {
        // None is written where it may not even be asked which process this is.
        Some(_) if sys::filter() == sys::Filter::Own => Level::Info,
        // hugectl has said it.
        Some(0) => Level::Info,
        Some(pid) if pid != sys::getpid() => level_of_other(kind),
        _ => level_once(kind),
    }
}

/// The same of what hugectl cannot have known when it said what will fall short.
pub fn level_of_news(kind: Kind) -> Level {
    let config = get();
    let starter = config.starter.map(|starter| starter.pid);
    match sys::filter() {
        sys::Filter::Own => level(kind),
        _ if config.speaker != Some(0) => level(kind),
        _ if starter == Some(sys::getpid()) => level_once(kind),
        _ => level_of_other(kind),
    }
}

/// The same of what every process says that is not known to have been said.
pub fn level_once(kind: Kind) -> Level {
    match may_ask() && said::ask(kind) == News::Old {
        true => Level::Info,
        false => Level::Warning,
    }
}

/// The same in a process that says only what nobody else has.
fn level_of_other(kind: Kind) -> Level {
    match may_ask() && outlet::is_open() && said::ask(kind) == News::First {
        true => Level::Warning,
        false => Level::Info,
    }
}

/// Whether it matters what was said, and may be looked up: nothing is said, and no file
/// opened, where a program filters its own system calls.
fn may_ask() -> bool {
    is_heard(Level::Warning) && sys::filter() != sys::Filter::Own
}

struct Cell {
    state: AtomicU8,
    config: UnsafeCell<Config>,
}

// SAFETY: `config` is written by the one thread that moves `state` from UNREAD to READING,
// and read only after it has become READY.
unsafe impl Sync for Cell {}

/// The file for the report: not among what each start writes to.
struct KeptPath(UnsafeCell<[u8; PATH_MAX]>);

// SAFETY: as the cell's config.
unsafe impl Sync for KeptPath {}

static PATH: KeptPath = KeptPath(UnsafeCell::new([0; PATH_MAX]));

const UNREAD: u8 = 0;
const READING: u8 = 1;
const READY: u8 = 2;

static CELL: Cell = Cell {
    state: AtomicU8::new(UNREAD),
    config: UnsafeCell::new(Settings::NOTHING),
};

/// What this process was asked to do. Read from the environment at the first
/// call at which there is one; before that, nothing.
pub fn get() -> &'static Config {
    if CELL.state.load(Ordering::Acquire) == READY {
        // SAFETY: READY: nobody writes any more.
        return unsafe { &*CELL.config.get() };
    }
    read()
}

/// Whether the environment has been read: what [`get`] says is final.
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
        // Another thread, or this one further up the stack, is reading.
        return &NOTHING;
    }
    if !sys::is_secure() {
        let Some(variables) = Variables::find() else {
            CELL.state.store(UNREAD, Ordering::Release);
            return &NOTHING;
        };
        // Some thousand bytes of the stack, filled only where they are asked for.
        let mut buffer = MaybeUninit::uninit();
        let program = program(&variables, &mut buffer);
        let get = |name: &str| variables.get(name);
        let source = Settings::source(&get, program, sys::getpid()).kept_by(leaked_copy::keep);
        let mut settings = Settings::of(source);
        // SAFETY: this thread moved the state to READING, so it alone writes.
        keep_report(&mut settings, unsafe { &mut *PATH.0.get() });
        // SAFETY: likewise.
        unsafe { *CELL.config.get() = settings };
    }
    CELL.state.store(READY, Ordering::Release);
    // SAFETY: READY: nobody writes any more.
    unsafe { &*CELL.config.get() }
}

/// Keeps the file for the report, with a zero byte behind it.
fn keep_report(settings: &mut Config, kept: &'static mut [u8; PATH_MAX]) {
    if let Some(Report::File(path)) = &mut settings.report {
        let room = &mut kept[..path.len()];
        room.copy_from_slice(path);
        *path = room;
    }
}

/// What follows the last `/` of the program's first argument. Read only where
/// it is asked for, since it costs system calls.
fn program<'a>(variables: &Variables, buffer: &'a mut MaybeUninit<[u8; PATH_MAX]>) -> &'a [u8] {
    if variables.get(env::RESTRICT_EXE).is_none() {
        return &[];
    }
    let text = procfile::head(c"/proc/self/cmdline", buffer.write([0; PATH_MAX]));
    let first = text.split(|b| *b == 0).next().unwrap_or(&[]);
    first.rsplit(|b| *b == b'/').next().unwrap_or(&[])
}

/// How much of the heap must be on the pages that were asked for.
pub fn share_of_heap() -> Option<Share> {
    share_of(Segment::Heap)
}

/// The same of memory that is not the program's file, where that was asked for.
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

/// Whether the heap is asked to be on pages of a pool.
pub fn heap_is_of_pool() -> bool {
    get().heap.is_some_and(|pages| pages != Pages::Thp)
}

/// Whether blocks are to fail rather than lie on pages below those asked for.
pub fn heap_is_strict() -> bool {
    share_of_heap().is_some() || get().fallback == Fallback::None && heap_is_of_pool()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_path_is_copied() {
        let path: &'static [u8] = b"/tmp/report";
        let mut config = Settings {
            report: Some(Report::File(path)),
            ..Settings::NOTHING
        };
        let kept: &'static mut [u8; PATH_MAX] = Box::leak(Box::new([0; PATH_MAX]));
        keep_report(&mut config, kept);
        let Some(Report::File(copy)) = config.report else {
            panic!("{:?}", config.report)
        };
        assert_eq!(copy, path);
        assert_ne!(copy.as_ptr(), path.as_ptr());
    }
}
