//! `--pid`: programs that run already, put on huge pages from outside.

mod known;
mod living;
mod redis;

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;

use super::place::Done;
use crate::support::live::skip;
use crate::support::tool::tool;

/// A program that says a line when it is ready, and is ended at the end of the test.
struct Subject {
    child: Child,
    lines: BufReader<std::process::ChildStdout>,
    input: Option<ChildStdin>,
}

impl Subject {
    /// Starts it, and waits for its line.
    fn start(command: &mut Command) -> Subject {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        let input = child.stdin.take();
        let mut subject = Subject {
            child,
            lines,
            input,
        };
        assert_eq!(subject.line(), "ready");
        subject
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    /// The next line that it says.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// Closes its input, at which it says a last line.
    fn last(mut self) -> String {
        drop(self.input.take());
        self.line()
    }
}

impl Drop for Subject {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs hugectl with these words; what it printed.
fn hugectl(words: &[&str]) -> Done {
    super::place::done(&tool("hugectl").args(words).output().unwrap())
}

/// The document of a run that did something; its status is in it.
fn document(words: &[&str]) -> Value {
    let done = hugectl(&[words, &["--json"]].concat());
    let value: Value = serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{done:?}"));
    assert_eq!(value["status"], done.status, "{done:?}");
    assert_eq!(value["schema"], 1);
    value
}

/// The one process of a document, whose figures are sound.
fn only(document: &Value) -> &Value {
    let processes = document["processes"].as_array();
    let [process] = &processes.unwrap_or_else(|| panic!("{document:#}"))[..] else {
        panic!("{document:#}");
    };
    is_sound(process);
    process
}

/// What is left and what is huge are all that there is; segments add up.
fn is_sound(process: &Value) {
    let left: u64 = process["left"].as_array().unwrap().iter().map(bytes).sum();
    let after = &process["after"];
    assert_eq!(
        number(&after["resident"]),
        huge(after) + left,
        "{process:#}"
    );
    for time in ["before", "after"] {
        let rows = process["segments"].as_array().unwrap().iter();
        let sum: u64 = rows.map(|row| number(&row[time]["resident"])).sum();
        assert_eq!(sum, number(&process[time]["resident"]), "{process:#}");
    }
}

fn bytes(left: &Value) -> u64 {
    number(&left["bytes"])
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value}"))
}

/// Bytes on huge pages, of `before` or `after`.
fn huge(moment: &Value) -> u64 {
    let sizes = moment["huge"].as_object().unwrap();
    sizes.values().map(number).sum()
}

/// The part of what is resident afterwards that is huge.
fn share(process: &Value) -> f64 {
    huge(&process["after"]) as f64 / number(&process["after"]["resident"]) as f64
}

/// Whether this kernel collapses the memory of others, and THP are there.
fn is_possible(test: &str, thp_serves: bool) -> bool {
    if !thp_serves {
        return skip::<()>(test, "this machine has no transparent huge pages").is_some();
    }
    let release = nix::sys::utsname::uname().unwrap();
    let release = release.release().to_string_lossy().into_owned();
    let mut numbers = release
        .split(['.', '-'])
        .map(|part| part.parse().unwrap_or(0));
    let version: (u32, u32) = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    version >= (6, 1) || skip::<()>(test, "process_madvise collapses since Linux 6.1").is_some()
}
