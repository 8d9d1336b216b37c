//! The watcher of a report: a process aside that looks at those that report now
//! and then, and tells what their library could not, when they end by a signal
//! or by a system call of their own.
//!
//! It is begun before the program, and is no child of it. It holds nothing of
//! what the program has but the place where the report goes, and ends when
//! nobody is left to be watched.

mod ending;
mod family;
pub(crate) mod look;
mod output;
mod watched;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hugetools_contract::watch::Page;
use hugetools_model::Root;
use nix::fcntl::OFlag;
use nix::unistd::pipe2;

use crate::sys::aside;
use crate::sys::shared::Shared;
use family::Family;
use output::Output;
use watched::Watched;

/// Where the report goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum To {
    /// Standard error, of the one process.
    Terminal {
        /// As JSON.
        json: bool,
        /// Whether warnings are shown.
        warns: bool,
    },
    /// A file, lines of JSON, of all processes.
    File(PathBuf),
}

/// A watcher that waits for the program to begin: when this is closed, as `exec`
/// does.
#[derive(Debug)]
pub struct Begun {
    pid: u32,
    program: OwnedFd,
}

impl Begun {
    /// The value of `HUGETLB_REPORT_WATCH`, by which libraries find it.
    pub fn variable(&self) -> String {
        format!("{}:{SHARED}", self.pid)
    }

    /// Tells it that there will be no program.
    pub fn cancel(self) {
        let _ = File::from(self.program).write(b"x");
    }
}

/// The descriptors of the watcher, in their order.
const SHARED: i32 = 3;
const PROCESS: i32 = 4;
const PROGRAM: i32 = 5;
const ANSWER: i32 = 6;
const OUTPUT: i32 = 7;

/// Begins to watch this process, which is about to become a program. What would go to
/// standard error goes with the messages, where these go elsewhere.
///
/// # Errors
/// Why ends by a signal cannot be reported.
pub fn begin(root: &Root, to: &To, messages: Option<&File>) -> Result<Begun, String> {
    if aside::adopts_orphans() {
        return Err("this process is the first one, or one that adopts orphans".to_owned());
    }
    let own = std::process::id();
    let process = aside::process(own).map_err(|why| format!("pidfd_open: {why}"))?;
    aside::wait(&[&process], Duration::ZERO).map_err(|why| format!("poll: {why}"))?;
    let failed = |why: std::io::Error| format!("no other process can be started: {why}");
    let (shared, file) = Shared::new().map_err(failed)?;
    shared.page().claim(own);
    shared
        .page()
        .began
        .store(look::since_boot(), Ordering::Relaxed);
    let pipe = || pipe2(OFlag::O_CLOEXEC).map_err(|errno| failed(errno.into()));
    let (begins, program) = pipe()?;
    let (hears, answer) = pipe()?;
    let output =
        Output::open(to, messages).map_err(|why| format!("its file cannot be opened: {why}"))?;
    let keep = [
        file.as_raw_fd(),
        process.as_raw_fd(),
        begins.as_raw_fd(),
        answer.as_raw_fd(),
        output.as_raw_fd(),
    ];
    let warns = match to {
        To::Terminal { warns, .. } => Some(*warns),
        To::File(_) => None,
    };
    let work = || {
        let output = output.reopened(aside::kept(OUTPUT));
        let mut answer = File::from(aside::kept(ANSWER));
        if answer.write_all(&std::process::id().to_le_bytes()).is_err() {
            return;
        }
        drop(answer);
        if has_begun(aside::kept(PROGRAM)) {
            let first = Watched::new(own, Some(aside::kept(PROCESS)));
            let family = warns.map(|warns| Family::new(root, own, warns));
            watch(root, shared, first, family, output);
        }
    };
    let name = aside::Name {
        short: c"hugectl-report",
        line: &format!("hugectl: report of {own}"),
        root,
    };
    aside::run(&keep, &name, work).map_err(failed)?;
    drop(answer);
    let mut pid = [0; 4];
    // It says so before all else, if it gets that far.
    let told = File::from(hears).read_exact(&mut pid);
    told.map_err(|_error| {
        "the process that would watch has ended; it needs /dev/null, and eight descriptors"
            .to_owned()
    })?;
    Ok(Begun {
        pid: u32::from_le_bytes(pid),
        program,
    })
}

/// Waits for the program; whether there is one.
fn has_begun(program: OwnedFd) -> bool {
    let mut word = [0];
    matches!(File::from(program).read(&mut word), Ok(0))
}

/// Watches until nobody is left.
fn watch(
    root: &Root,
    shared: Shared,
    first: Watched,
    mut family: Option<Family>,
    mut output: Output,
) {
    let own = first.pid();
    let mut all = vec![first];
    while !all.is_empty() && !output.is_gone() {
        for watched in all
            .iter_mut()
            .filter(|watched| watched.is_due(root, shared))
        {
            watched.look(root, shared, &mut output);
        }
        if let Some(family) = &mut family {
            family.look(root);
        }
        // Who cannot wait would look without a pause.
        let Ok(ended) = wait(&all) else {
            return;
        };
        let mut left = Vec::new();
        for (mut watched, has_ended) in all.into_iter().zip(ended) {
            match has_ended {
                true => {
                    let teller = watched.end(root, shared, &mut output);
                    let family = family.as_ref().filter(|_| watched.pid() == own);
                    family.inspect(|family| family.tell(root, teller, &mut output));
                }
                false => left.push(watched),
            }
        }
        all = left;
        notice(shared.page(), &mut all);
    }
}

/// Waits until one of them has ended, or it is time to look again. Which have.
fn wait(all: &[Watched]) -> io::Result<Vec<bool>> {
    let files: Vec<&OwnedFd> = all.iter().filter_map(Watched::file).collect();
    if files.len() < all.len() {
        // Somebody had ended before it could be watched.
        return Ok(all.iter().map(|watched| watched.file().is_none()).collect());
    }
    let patience = all.iter().map(Watched::patience).min();
    aside::wait(&files, patience.unwrap_or_default())
}

/// Finds those that have said that they report.
fn notice(page: &Page, all: &mut Vec<Watched>) {
    use std::sync::atomic::Ordering;
    for slot in &page.slots {
        let pid = slot.pid.load(Ordering::Acquire);
        if pid != 0 && !all.iter().any(|watched| watched.pid() == pid) {
            all.push(Watched::new(pid, aside::process(pid).ok()));
        }
    }
}
