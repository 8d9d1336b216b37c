//! A program that runs beside a test until its input ends.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, Stdio};

use super::tool::Ran;

/// The program, killed when dropped.
pub(crate) struct Running {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap());
        Running { child, out }
    }

    /// Starts a program that prints `ready` once its memory is filled.
    pub(crate) fn ready(command: &mut Command) -> Running {
        let mut running = Running::start(command);
        assert_eq!(running.line(), "ready");
        running
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn pid(&self) -> String {
        self.id().to_string()
    }

    /// Returns the next line that it prints; an empty one at the end.
    pub(crate) fn line(&mut self) -> String {
        let mut line = String::new();
        self.out.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Reads lines up to one that starts with `begin`.
    pub(crate) fn skip_to(&mut self, begin: &str) {
        let mut lines = std::iter::repeat_with(|| self.line());
        let found = lines.find(|line| line.is_empty() || line.starts_with(begin));
        assert_ne!(found.as_deref(), Some(""), "it has ended before {begin:?}");
    }

    /// Sends an empty line to its input.
    pub(crate) fn send_line(&mut self) {
        // It may have ended.
        let _ = self.child.stdin.as_mut().unwrap().write_all(b"\n");
    }

    /// Sends a line, closes the input and waits for the end. Returns the output not yet read.
    pub(crate) fn end(mut self) -> Ran {
        self.send_line();
        drop(self.child.stdin.take());
        let [mut out, mut err] = [const { Vec::new() }; 2];
        self.out.read_to_end(&mut out).unwrap();
        let mut pipe = self.child.stderr.take().unwrap();
        pipe.read_to_end(&mut err).unwrap();
        let status = self.child.wait().unwrap();
        std::process::Output {
            status,
            stdout: out,
            stderr: err,
        }
        .into()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
