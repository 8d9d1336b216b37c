//! With `--report` hugectl is the parent of the program: signals, status, terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;

use nix::pty::openpty;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::{child_of, hugectl};
use crate::support::running::Running;
use crate::support::tool::tool;

fn send(pid: u32, signal: Signal) {
    kill(Pid::from_raw(pid.try_into().unwrap()), signal).unwrap();
}

/// Starts a Perl program under hugectl with a report to /dev/null.
fn perl(program: &str) -> Running {
    let mut command = hugectl("--report=/dev/null", Path::new("perl"), &["-e", program]);
    Running::ready(&mut command)
}

#[test]
fn signals_are_passed_on_and_the_status_is_returned() {
    let script = "$| = 1; $SIG{$_} = sub { print \"$_[0]\\n\" } for qw(HUP INT USR1 TERM ALRM); \
                print \"ready\\n\"; sleep 60 while 1";
    let mut running = perl(script);
    let pid = running.id();
    for (signal, name) in [
        (Signal::SIGHUP, "HUP"),
        (Signal::SIGINT, "INT"),
        (Signal::SIGUSR1, "USR1"),
        (Signal::SIGTERM, "TERM"),
        (Signal::SIGALRM, "ALRM"),
    ] {
        send(pid, signal);
        assert_eq!(running.line(), name);
    }
    send(pid, Signal::SIGUSR2);
    assert_eq!(running.end().status, 128 + 12);
}

/// SIGKILL cannot be passed on.
#[test]
fn a_program_is_killed_with_hugectl() {
    let mut running = perl("$| = 1; print \"ready\\n\"; sleep 60");
    send(running.id(), Signal::SIGKILL);
    // The pipe is closed when the program has ended.
    assert_eq!(running.line(), "");
    assert_eq!(running.end().status, 128 + 9);
}

/// An interactive shell at a terminal.
struct Shell {
    child: std::process::Child,
    terminal: File,
    unread: String,
}

impl Shell {
    fn start() -> Shell {
        let pty = openpty(None, None).unwrap();
        let slave = File::from(pty.slave);
        // The tests may run in the background, with SIGINT ignored.
        let mut command = Command::new("env");
        command.args(["--default-signal", "setsid", "-c"]);
        command.args(["bash", "--norc", "--noprofile", "-i"]);
        command.env("PS1", "").env("TERM", "dumb");
        command
            .stdin(slave.try_clone().unwrap())
            .stdout(slave.try_clone().unwrap())
            .stderr(slave);
        let child = command.spawn().unwrap();
        Shell {
            child,
            terminal: File::from(pty.master),
            unread: String::new(),
        }
    }

    fn type_text(&mut self, text: &str) {
        self.terminal.write_all(text.as_bytes()).unwrap();
    }

    /// Reads until this text; returns the text before it.
    fn read_until(&mut self, text: &str) -> String {
        let mut buffer = [0; 4096];
        loop {
            if let Some((before, after)) = self.unread.split_once(text) {
                let (before, after) = (before.to_owned(), after.to_owned());
                self.unread = after;
                return before;
            }
            let len = self.terminal.read(&mut buffer).expect(&self.unread);
            self.unread += &String::from_utf8_lossy(&buffer[..len]);
        }
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// `^Z`, `fg` and `^C` work as without hugectl, and the program gets each signal once.
#[test]
fn job_control_works() {
    let mut shell = Shell::start();
    let started = tool("hugectl");
    let program = started.get_program().to_str().unwrap();
    let script = "$| = 1; $SIG{INT} = sub { print \"in\", \"t\\n\" }; $SIG{CONT} = sub { print \
                \"con\", \"t\\n\" }; print \"rea\", \"dy\\n\"; sleep 60 while 1";
    shell.type_text(&format!(
        "{program} -q --heap=thp --report=/dev/null perl -e '{script}'\n"
    ));
    shell.read_until("ready");
    shell.type_text("\x1a");
    shell.read_until("Stopped");
    shell.type_text("echo $((40 + 2))\n");
    shell.read_until("42");
    shell.type_text("fg\n");
    shell.read_until("cont");
    shell.type_text("\x03");
    shell.read_until("int");
    // No second SIGINT.
    shell.type_text("\x1c");
    let between = shell.read_until("Quit");
    assert!(!between.contains("int"), "{between:?}");
    shell.type_text("echo status $?\n");
    shell.read_until("status 131");
}

/// As without hugectl the program has no process group of its own.
#[test]
fn the_program_stays_in_the_process_group() {
    let running = perl("$| = 1; print \"ready\\n\"; sleep 60");
    let (pid, child) = (running.id(), child_of(running.id()));
    let group_of = |pid: u32| nix::unistd::getpgid(Some(Pid::from_raw(pid.try_into().unwrap())));
    assert_eq!(group_of(pid), group_of(child));
    send(pid, Signal::SIGTERM);
    assert_eq!(running.end().status, 128 + 15);
}
