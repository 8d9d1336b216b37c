//! Runs a program and measures its time and memory.
#![expect(clippy::disallowed_methods, reason = "reads /proc of a process")]

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

/// How often `/proc/PID/status` is read.
const OFTEN: Duration = Duration::from_millis(10);

/// How often, at most, smaps is read.
const SELDOM: Duration = Duration::from_millis(20);

/// `USER_HZ`: the unit of processor time in `/proc`.
const TICKS: f64 = 100.0;

/// A running program.
pub(crate) struct Watched {
    child: Child,
    started: Instant,
    errors: fs::File,
    stop: Arc<AtomicBool>,
    sampler: JoinHandle<Memory>,
}

impl Watched {
    /// Starts a program. With `look` its smaps is read, which slows it down.
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

    /// Kills it.
    pub(crate) fn kill(mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits for its end. Returns an error if it failed.
    pub(crate) fn finish(mut self) -> Result<Outcome, String> {
        let pid = i32::try_from(self.child.id()).map_err(|error| error.to_string())?;
        // It stays in /proc, where its counters are read.
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
            .map_err(|_| "the sampler failed".to_owned())?;
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
        _ => "no message".to_owned(),
    }
}

/// Returns page faults and CPU seconds of an ended process and its children.
fn used(pid: i32) -> Option<(u64, f64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Field 3 follows the name, which is in parentheses and may contain anything.
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

/// Reads the pages of a process from smaps.
fn pages(pid: u32) -> Option<Memory> {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
    let pool = field(&text, "Private_Hugetlb:") + field(&text, "Shared_Hugetlb:");
    Some(Memory {
        anonymous: field(&text, "Anonymous:") + pool,
        huge: field(&text, "AnonHugePages:") + pool,
        ..Memory::default()
    })
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let word = line.and_then(|rest| rest.split_whitespace().next());
    word.and_then(|word| word.parse().ok()).unwrap_or(0)
}
