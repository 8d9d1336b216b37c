//! Runs a program with a timeout, in its own process group, which is killed as a whole.

use std::fs::File;
use std::io::{Read, Seek};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// A program's end and output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct End {
    pub(super) how: How,
    pub(super) out: String,
    pub(super) err: String,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum How {
    Status(i32),
    Signal(i32),
    /// It timed out; each thread with its wait channel.
    Hung(Vec<String>),
}

/// Most programs take less than a second.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Runs a program until it ends or times out.
pub(super) fn run(command: &mut Command) -> End {
    let mut files = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
    let [out, err] = files.each_ref().map(|file| file.try_clone().unwrap());
    command.stdin(Stdio::null()).stdout(out).stderr(err);
    let mut child = command.process_group(0).spawn().unwrap();
    let how = match wait(&mut child) {
        Some(status) => status
            .code()
            .map_or_else(|| How::Signal(status.signal().unwrap()), How::Status),
        None => hung(&mut child),
    };
    // Kills leftover processes.
    let _ = killpg(group(&child), Signal::SIGKILL);
    let [out, err] = files.each_mut().map(contents);
    End { how, out, err }
}

fn wait(child: &mut Child) -> Option<ExitStatus> {
    let end = Instant::now() + TIMEOUT;
    while Instant::now() < end {
        if let Some(status) = child.try_wait().unwrap() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(3));
    }
    None
}

fn group(child: &Child) -> Pid {
    Pid::from_raw(i32::try_from(child.id()).unwrap())
}

/// Lists the threads for a report, then kills them.
fn hung(child: &mut Child) -> How {
    let list = Command::new("ps")
        .args(["-e", "-L", "-o", "pgid=,pid=,lwp=,stat=,wchan:24=,comm="])
        .output();
    let list = list.map(|list| String::from_utf8_lossy(&list.stdout).into_owned());
    let _ = killpg(group(child), Signal::SIGKILL);
    child.wait().unwrap();
    let of_group = |line: &&str| line.trim_start().starts_with(&format!("{} ", child.id()));
    let lines = list.unwrap_or_default();
    How::Hung(lines.lines().filter(of_group).map(str::to_owned).collect())
}

fn contents(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
