//! A program under observation: its time, and what the kernel says of it.
#![expect(
    clippy::disallowed_methods,
    reason = "reads what /proc says of a process"
)]

use std::fs;
use std::io::{Read, Seek};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;

use super::outcome::{Memory, Outcome};

/// How often the counters are read.
const OFTEN: Duration = Duration::from_millis(10);

/// How often, at most, all pages are looked at.
const SELDOM: Duration = Duration::from_millis(20);

/// `USER_HZ`: the unit of processor time in `/proc`.
const TICKS: f64 = 100.0;

/// A program that runs.
pub(crate) struct Watched {
    child: Child,
    started: Instant,
    errors: fs::File,
    stop: Arc<AtomicBool>,
    sampler: JoinHandle<Memory>,
}

impl Watched {
    /// Starts a program. A `look` at all its pages holds it up now and then.
    pub(crate) fn start(mut command: Command, look: bool) -> Result<Watched, String> {
        let errors = tempfile::tempfile().map_err(|error| format!("a temporary file: {error}"))?;
        let copy = errors.try_clone().map_err(|error| error.to_string())?;
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(copy);
        let started = Instant::now();
        let child = command
            .spawn()
            .map_err(|error| format!("{:?}: {error}", command.get_program()))?;
        let stop = Arc::new(AtomicBool::new(false));
        let (pid, flag) = (child.id(), Arc::clone(&stop));
        let sampler = thread::spawn(move || sample(pid, look, &flag));
        Ok(Watched {
            child,
            started,
            errors,
            stop,
            sampler,
        })
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it.
    pub(crate) fn kill(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end; an error where it did not end well.
    pub(crate) fn finish(mut self) -> Result<Outcome, String> {
        let pid = i32::try_from(self.child.id()).map_err(|error| error.to_string())?;
        // Not yet out of /proc: what it used is read afterwards.
        let ended = waitid(
            Id::Pid(Pid::from_raw(pid)),
            WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT,
        );
        let seconds = self.started.elapsed().as_secs_f64();
        ended.map_err(|errno| format!("waiting for {pid}: {errno}"))?;
        self.stop.store(true, Ordering::Relaxed);
        let (faults, cpu) = used(pid).ok_or_else(|| format!("/proc/{pid}/stat cannot be read"))?;
        let memory = self
            .sampler
            .join()
            .map_err(|_| "the observer failed".to_owned())?;
        let output = self
            .child
            .wait_with_output()
            .map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!(
                "{}: {}",
                output.status,
                last_line(&mut self.errors)
            ));
        }
        Ok(Outcome {
            seconds,
            cpu,
            faults,
            output: String::from_utf8_lossy(&output.stdout).into_owned(),
            memory,
        })
    }
}

fn last_line(file: &mut fs::File) -> String {
    let mut text = String::new();
    let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
    match (read, text.lines().last()) {
        (Ok(_), Some(line)) => line.to_owned(),
        _ => "it said nothing".to_owned(),
    }
}

/// Page faults, and seconds of a processor, of a process that has ended and its
/// children.
fn used(pid: i32) -> Option<(u64, f64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in brackets, may hold anything; after it comes field 3.
    let (_, rest) = text.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let ticks: u64 = (14..=17).map(field).sum::<Option<u64>>()?;
    let ticks = f64::from(u32::try_from(ticks).ok()?);
    Some((field(10)? + field(11)?, ticks / TICKS))
}

fn sample(pid: u32, look: bool, stop: &AtomicBool) -> Memory {
    let mut memory = Memory::default();
    let mut next = Instant::now();
    while !stop.load(Ordering::Relaxed) {
        memory = memory.join(counters(pid).unwrap_or_default());
        if look && Instant::now() >= next {
            let before = Instant::now();
            memory = memory.join(pages(pid).unwrap_or_default());
            next = Instant::now() + SELDOM.max(before.elapsed() * 10);
        }
        thread::sleep(OFTEN);
    }
    memory
}

fn counters(pid: u32) -> Option<Memory> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let pool = field(&text, "HugetlbPages:");
    Some(Memory {
        tables: field(&text, "VmPTE:"),
        peak: field(&text, "VmHWM:") + pool,
        pool,
        ..Memory::default()
    })
}

/// A look at all pages of a process.
pub(crate) fn pages(pid: u32) -> Option<Memory> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let pool = field(&text, "Private_Hugetlb:") + field(&text, "Shared_Hugetlb:");
    Some(Memory {
        anonymous: field(&text, "Anonymous:") + pool,
        huge: field(&text, "AnonHugePages:") + pool,
        ..Memory::default()
    })
}

/// kB of memory that a process has, its part of what it shares with others.
pub(crate) fn portion(pid: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let halves = field(&text, "Shared_Hugetlb:") / 2;
    Some(field(&text, "Pss:") + field(&text, "Private_Hugetlb:") + halves)
}

/// The child of a process, where it has one.
pub(crate) fn child_of(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    text.split_whitespace().next()?.parse().ok()
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}
