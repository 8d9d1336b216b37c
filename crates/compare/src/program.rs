//! Starts a program and measures its run.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use hugetools_model::Root;
use nix::sys::memfd::{MFdFlags, memfd_create};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::memory::Memory;
use crate::sys::{self, Usage};
use crate::way::Way;

/// Sampling interval of the program's memory.
const SAMPLE_PERIOD: Duration = Duration::from_millis(4);

/// The measurements of a run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Run {
    /// Wall time of the program, or of the driver, in seconds.
    pub(crate) seconds: f64,
    pub(crate) usage: Usage,
    pub(crate) memory: Memory,
    pub(crate) metric: Option<f64>,
    /// Standard output of the program, or all output of the driver, if needed.
    pub(crate) output: Vec<u8>,
    /// The first warning of hugectl or its libraries, in a warm-up.
    pub(crate) warning: Option<String>,
}

/// A program that failed or could not be started.
#[derive(Debug, Clone)]
pub struct Failed {
    /// The way.
    pub way: String,
    /// What happened.
    pub why: String,
    /// What it printed.
    pub output: String,
    /// The exit status, as a shell reports it.
    pub status: u8,
}

#[derive(Debug)]
pub(crate) struct RunningProgram {
    pub(crate) pid: u32,
    began: Instant,
    output: Option<File>,
    errors: File,
    pub(crate) status: Option<ExitStatus>,
}

impl RunningProgram {
    /// Starts a command; with `keep`, keeps its standard output.
    pub(crate) fn new(mut command: Command, keep: bool) -> io::Result<RunningProgram> {
        let output = keep.then(buffer).transpose()?;
        let errors = buffer()?;
        let stdout = match &output {
            Some(file) => Stdio::from(file.try_clone()?),
            None => Stdio::null(),
        };
        command
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(errors.try_clone()?);
        let began = Instant::now();
        let child = command.spawn()?;
        Ok(RunningProgram {
            pid: child.id(),
            began,
            output,
            errors,
            status: None,
        })
    }

    /// Waits for the program, and sends it SIGTERM if the user interrupts. Meanwhile, samples the
    /// memory of process `sampled`.
    pub(crate) fn finish(&mut self, sampled: Option<(&Root, u32)>) -> io::Result<Run> {
        let mut memory = Memory::default();
        let mut is_ending = false;
        let usage = loop {
            if let Some((status, usage)) = sys::wait(self.pid, sampled.is_none())? {
                self.status = Some(status);
                break usage;
            }
            if sys::is_interrupted() && !is_ending {
                is_ending = true;
                self.kill(Signal::SIGTERM);
            }
            if let Some((root, pid)) = sampled {
                memory.sample(root, pid);
            }
            sleep(SAMPLE_PERIOD);
        };
        Ok(Run {
            seconds: self.began.elapsed().as_secs_f64(),
            usage,
            memory,
            output: self.output()?,
            ..Run::default()
        })
    }

    /// Sends a signal. Ignores errors: the program may have changed its user.
    pub(crate) fn kill(&self, signal: Signal) {
        let pid = libc::pid_t::try_from(self.pid);
        let _ = pid.map(|pid| kill(Pid::from_raw(pid), signal));
    }

    /// Returns the standard output so far.
    pub(crate) fn output(&self) -> io::Result<Vec<u8>> {
        self.output
            .as_ref()
            .map_or_else(|| Ok(Vec::new()), contents)
    }

    /// Returns the standard error so far.
    pub(crate) fn errors(&self) -> io::Result<String> {
        contents(&self.errors).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }
}

/// Creates an empty file in memory.
fn buffer() -> io::Result<File> {
    Ok(File::from(memfd_create(c"output", MFdFlags::MFD_CLOEXEC)?))
}

/// Reads a whole file. Uses pread(2), since other processes share the file position.
fn contents(file: &File) -> io::Result<Vec<u8>> {
    let mut bytes = vec![0; usize::try_from(file.metadata()?.len()).unwrap_or(0)];
    file.read_exact_at(&mut bytes, 0)?;
    Ok(bytes)
}

pub(crate) fn failed(way: &Way, status: u8, why: String, output: String) -> Failed {
    Failed {
        way: way.name.clone(),
        why,
        output,
        status,
    }
}
