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
use core::sync::atomic::{AtomicU8, Ordering};

use hugetools_contract::env::{
    self, Api, Elfmap, Fallback, Limit, Messages, Odd, Pages, Report, Require, Settings, Share,
    TextCopy,
};

use crate::kernel::procfile;
use crate::rt::message::Level;
use crate::sys;
use environment::Variables;
use hugetools_contract::segment::Segment;
use leaked_copy::keep;

pub mod environment;
pub mod leaked_copy;
pub mod starter_message;

/// Where the report at the end goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// No report.
    None,
    /// Standard error of the process that hugectl started.
    Terminal {
        /// That process.
        pid: u32,
        /// As JSON.
        json: bool,
    },
    /// Appended to the file whose name is [`Config::report_path`].
    File,
}

/// What this process was asked to do.
#[derive(Debug)]
pub struct Config {
    /// Messages up to this level are written.
    pub verbosity: u8,
    /// Where they go instead of standard error.
    pub messages: Option<Messages<'static>>,
    /// The heap's huge pages.
    pub heap: Option<Pages>,
    /// Where the heap begins, if it can.
    pub heap_base: Option<u64>,
    /// Whether what the heap frees goes back at once.
    pub heap_shrink: bool,
    /// Shared memory's huge pages.
    pub shm: Option<Pages>,
    /// What the C interface heeds.
    pub api: Api<'static>,
    /// The segments of the program.
    pub elfmap: Elfmap,
    /// Whether all processes use one copy of the text.
    pub share_text: bool,
    /// Where that copy lies.
    pub share_path: Option<&'static [u8]>,
    /// Whether shared libraries' text counts as text, too.
    pub text_libs: bool,
    /// Who may make a copy of text that no other process can share.
    pub text_copy: Option<TextCopy<'static>>,
    /// Whether perf is told the symbols of text that is a copy.
    pub perf_map: bool,
    /// When huge pages run out.
    pub fallback: Fallback,
    /// What must be on huge pages.
    pub require: Require,
    /// What this process may take of the pools.
    pub limit: Option<Limit>,
    /// The process that says when it runs out of huge pages.
    pub speaker: Option<u32>,
    /// The process that hugectl started.
    pub starter: Option<u32>,
    /// The report at the end.
    pub report: Target,
    /// Who watches the processes that report, and the descriptor of what is
    /// shared with it.
    pub watcher: Option<(u32, u32)>,
    /// The variables whose values could not be used in full.
    pub odd: Odd,
    path: [u8; PATH_MAX],
}

const PATH_MAX: usize = 4096;

impl Config {
    const NOTHING: Config = Config {
        verbosity: env::DEFAULT_VERBOSITY,
        messages: None,
        heap: None,
        heap_base: None,
        heap_shrink: false,
        shm: None,
        api: Api::NOTHING,
        elfmap: Elfmap {
            text: None,
            data: None,
            // Before the environment was read, and in set-user-id programs.
            off: true,
        },
        share_text: false,
        share_path: None,
        text_libs: false,
        text_copy: None,
        perf_map: false,
        fallback: Fallback::Thp,
        require: Require::NOTHING,
        limit: None,
        speaker: None,
        starter: None,
        report: Target::None,
        watcher: None,
        odd: Odd::NONE,
        path: [0; PATH_MAX],
    };

    /// The file for the report.
    pub fn report_path(&self) -> Option<&CStr> {
        match self.report {
            Target::File => CStr::from_bytes_until_nul(&self.path).ok(),
            Target::None | Target::Terminal { .. } => None,
        }
    }

    /// How important it is to this process's user that it runs out of huge
    /// pages.
    pub fn level(&self) -> Level {
        match self.speaker {
            // None is written where it may not even be asked which process this is.
            Some(_) if sys::filter() == sys::Filter::Own => Level::Info,
            Some(pid) if pid != sys::getpid() => Level::Info,
            _ => Level::Warning,
        }
    }

    /// The same of what hugectl cannot have known when it said what will fall short:
    /// the process that it started says it.
    pub fn level_of_news(&self) -> Level {
        let is_starter = self.speaker == Some(0) && self.starter == Some(sys::getpid());
        match sys::filter() {
            sys::Filter::Own => self.level(),
            _ if is_starter => Level::Warning,
            _ => self.level(),
        }
    }

    fn fill(&mut self, settings: &Settings<'_>) {
        self.verbosity = settings.verbosity;
        self.messages = settings.messages.map(|messages| Messages {
            path: self.keep(env::MESSAGES, messages.path),
            ..messages
        });
        self.heap = settings.heap;
        self.heap_base = settings.heap_base;
        self.heap_shrink = settings.heap_shrink;
        self.shm = settings.shm;
        self.elfmap = settings.elfmap;
        self.share_text = settings.share_text;
        self.text_libs = settings.text_libs;
        self.perf_map = settings.perf_map;
        self.fallback = settings.fallback;
        self.require = settings.require;
        self.limit = settings.limit;
        self.speaker = settings.speaker;
        self.starter = settings.starter;
        self.watcher = settings.watcher;
        self.odd = settings.odd;
        self.text_copy = settings.text_copy.and_then(|copy| {
            let program = self.keep(env::TEXT_COPY, Some(copy.program))?;
            Some(TextCopy { program, ..copy })
        });
        self.share_path = self.keep(env::SHARE_PATH, settings.share_path);
        self.api = Api {
            path: self.keep(env::PATH, settings.api.path),
            ..settings.api
        };
        self.report = match settings.report {
            None => Target::None,
            Some(Report::Terminal { pid, json }) => Target::Terminal { pid, json },
            Some(Report::File(path)) if path.len() < PATH_MAX => {
                self.path[..path.len()].copy_from_slice(path);
                Target::File
            }
            Some(Report::File(_)) => {
                self.odd.add(env::REPORT);
                Target::None
            }
        };
    }
}

impl Config {
    /// Keeps a value for which there is memory.
    fn keep(&mut self, name: &'static str, value: Option<&[u8]>) -> Option<&'static [u8]> {
        let kept = keep(value?);
        if kept.is_none() {
            self.odd.add(name);
        }
        kept
    }
}

struct Cell {
    state: AtomicU8,
    config: UnsafeCell<Config>,
}

// SAFETY: `config` is written by the one thread that moves `state` from UNREAD
// to READING, and read only after it has become READY.
unsafe impl Sync for Cell {}

const UNREAD: u8 = 0;
const READING: u8 = 1;
const READY: u8 = 2;

static CELL: Cell = Cell {
    state: AtomicU8::new(UNREAD),
    config: UnsafeCell::new(Config::NOTHING),
};

static NOTHING: Config = Config::NOTHING;

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
        let mut buffer = [0; PATH_MAX];
        let program = program(&variables, &mut buffer);
        let settings = Settings::read(|name| variables.get(name), program, sys::getpid());
        // SAFETY: this thread moved the state to READING, so it alone writes.
        unsafe { (*CELL.config.get()).fill(&settings) };
    }
    CELL.state.store(READY, Ordering::Release);
    // SAFETY: READY: nobody writes any more.
    unsafe { &*CELL.config.get() }
}

/// What follows the last `/` of the program's first argument. Read only where
/// it is asked for, since it costs system calls.
fn program<'a>(variables: &Variables, buffer: &'a mut [u8; PATH_MAX]) -> &'a [u8] {
    if variables.get(env::RESTRICT_EXE).is_none() {
        return &[];
    }
    let text = procfile::head(c"/proc/self/cmdline", buffer);
    let first = text.split(|b| *b == 0).next().unwrap_or(&[]);
    first.rsplit(|b| *b == b'/').next().unwrap_or(&[])
}

/// How much of the heap must be on the pages that were asked for.
pub fn share_of_heap() -> Option<Share> {
    let config = get();
    let share = config.require.share(Segment::Heap);
    share.filter(|_| config.heap.is_some())
}

/// The same of shared memory.
pub fn share_of_shm() -> Option<Share> {
    let config = get();
    let share = config.require.share(Segment::Shm);
    share.filter(|_| config.shm.is_some())
}

/// Whether blocks are to fail rather than lie on pages below those asked for.
pub fn heap_is_strict() -> bool {
    let config = get();
    let is_pool = config.heap.is_some_and(|pages| pages != Pages::Thp);
    share_of_heap().is_some() || config.fallback == Fallback::None && is_pool
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_path_is_copied() {
        let mut config = Config::NOTHING;
        let mut settings = Settings {
            report: Some(Report::File(b"/tmp/report")),
            ..Settings::default()
        };
        config.fill(&settings);
        assert_eq!(config.report_path(), Some(c"/tmp/report"));
        let long = [b'x'; PATH_MAX];
        settings.report = Some(Report::File(&long));
        config.fill(&settings);
        assert_eq!(config.report, Target::None);
        assert_eq!(config.odd.names().collect::<Vec<_>>(), [env::REPORT]);
    }
}
