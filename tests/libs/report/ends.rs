//! The report at every end of a program: one, whole, with the right reason.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::live::{machine, skip};
use crate::support::needs::others;
use crate::support::program::{Libc, build};
use crate::support::tool::tool;

/// How each ends, as the report has it; and whether it says what was there at the
/// very end, or what was last seen.
const ENDS: [(&str, &str, Option<i32>, bool); 10] = [
    ("return", "exit", None, true),
    ("exit", "exit", Some(3), true),
    ("_exit", "exit", Some(3), true),
    ("syscall", "exit", Some(3), true),
    ("itself", "exit", Some(3), false),
    ("quick", "exit", Some(3), false),
    ("TERM", "signal", Some(15), false),
    ("KILL", "signal", Some(9), false),
    ("SEGV", "signal", Some(11), false),
    ("ABRT", "signal", Some(6), false),
];

/// What the program has, in MiB.
const SIZE: u64 = 48;

/// A program under hugectl with a report.
pub(super) struct Running {
    pub(super) child: Child,
    says: BufReader<std::process::ChildStdout>,
}

impl Running {
    pub(super) fn start(mut command: Command) -> Running {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let says = BufReader::new(child.stdout.take().unwrap());
        Running { child, says }
    }

    /// What it says once it has its memory.
    pub(super) fn line(&mut self) -> String {
        let mut line = String::new();
        self.says.read_line(&mut line).unwrap();
        line.trim().to_owned()
    }

    /// Lets it end; its status, and what came on standard error until nobody had
    /// that any more.
    pub(super) fn end(mut self) -> (ExitStatus, String) {
        let _ = self.child.stdin.take().unwrap().write_all(b"\n");
        let mut said = String::new();
        let mut err = self.child.stderr.take().unwrap();
        let status = self.child.wait().unwrap();
        err.read_to_string(&mut said).unwrap();
        (status, said)
    }
}

/// The one child of hugectl: the program.
pub(super) fn child_of(hugectl: u32) -> u32 {
    let file = format!("/proc/{hugectl}/task/{hugectl}/children");
    let children = fs::read_to_string(file).unwrap();
    children.trim().parse().expect(&children)
}

pub(super) fn hugectl(report: &str, program: &Path, words: &[&str]) -> Command {
    let mut command = tool("hugectl");
    command
        .args(["-q", "--thp", report])
        .arg(program)
        .args(words);
    command
}

/// Whatever is wrong, a test does not wait for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits for so many lines in a file.
pub(super) fn lines(file: &Path, count: usize) -> Vec<Value> {
    let since = Instant::now();
    loop {
        let text = fs::read_to_string(file).unwrap_or_default();
        // What is being written just now is no line yet.
        let whole = text.matches('\n').count() >= count && text.ends_with('\n');
        if whole || since.elapsed() > PATIENCE {
            let line = |line: &str| serde_json::from_str(line).expect(line);
            return text.lines().map(line).collect();
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The time that hugectl needs to see what is there, if nobody else has much to do.
const SEEN: Duration = Duration::from_millis(1500);

/// Gives hugectl that time.
pub(super) fn be_seen(pid: u32) {
    let used = || fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    assert!(used().contains("VmRSS"), "it runs");
    std::thread::sleep(SEEN);
}

pub(super) fn resident(line: &Value) -> u64 {
    let rows = line["segments"].as_array().unwrap();
    rows.iter()
        .map(|row| row["resident"].as_u64().unwrap())
        .sum()
}

#[test]
fn each_end_leaves_one_line() {
    let dir = tempfile::tempdir().unwrap();
    let names = nix::sys::utsname::uname().unwrap();
    let host = names.nodename().to_str().unwrap();
    for libc in Libc::ALL {
        let Some(program) = build("ends", libc, &[]) else {
            continue;
        };
        // All at once: most of the time they are but waited for.
        let started = ENDS.map(|(how, ..)| {
            let file = dir.path().join(format!("{libc:?}-{how}"));
            let report = format!("--report={}", file.display());
            let size = SIZE.to_string();
            let mut command = hugectl(&report, &program, &[how, &size]);
            command.env("PMI_RANK", "12").env("SLURM_PROCID", "3");
            let mut running = Running::start(command);
            assert_eq!(running.line(), "ready", "{libc:?} {how}");
            (running, file)
        });
        be_seen(started[0].0.child.id());
        for ((running, file), (how, ended, value, is_exact)) in started.into_iter().zip(ENDS) {
            let what = format!("{libc:?} {how}");
            let parent = running.child.id();
            let pid = child_of(parent);
            let (status, said) = running.end();
            assert_eq!(said, "", "{what}");
            let signal = value.filter(|_| ended == "signal");
            assert_eq!(status.signal(), signal, "{what}");
            if signal.is_none() {
                assert_eq!(status.code(), Some(3), "{what}");
            }
            let all = lines(&file, 1);
            let [line] = &all[..] else {
                panic!("{what}: {all:?}");
            };
            assert_eq!(line["pid"], pid, "{what}");
            assert_eq!(line["ended"]["how"], ended, "{what}: {line}");
            assert_eq!(line["ended"]["value"], json!(value), "{what}: {line}");
            let origin = ["host", "rank", "parent"].map(|name| line[name].clone());
            let wanted = [json!(host), json!(12), json!(parent)];
            assert_eq!(origin, wanted, "{what}: {line}");
            assert!(resident(line) >= SIZE << 20, "{what}: {line}");
            assert!(
                line["peak"]["resident"].as_u64() >= Some(SIZE << 20),
                "{what}: {line}"
            );
            let time = |name: &str| line[name].as_f64().unwrap();
            assert_eq!(time("seen") == time("end"), is_exact, "{what}: {line}");
            assert!(time("start") < time("seen"), "{what}: {line}");
        }
    }
}

/// Nothing is said twice: the files stay as they are.
#[test]
fn an_exec_that_fails_is_no_end() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let Some(program) = build("ends", Libc::Glibc, &[]) else {
        return;
    };
    let report = format!("--report={}", file.display());
    let mut running = Running::start(hugectl(&report, &program, &["failing", "1"]));
    assert_eq!(running.line(), "ready");
    assert_eq!(running.end().0.code(), Some(3));
    let all = lines(&file, 1);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0]["ended"]["how"], "exit");
}

/// Whoever reads standard error has the report before its end.
#[test]
fn a_terminal_has_it_too() {
    let Some(program) = build("ends", Libc::Glibc, &[]) else {
        return;
    };
    for (how, text) in [
        ("KILL", "ended by signal 9 (SIGKILL) after "),
        ("_exit", "ended with status 3 after "),
        ("itself", "ended with status 3 after "),
    ] {
        let mut running = Running::start(hugectl("--report", &program, &[how, "1"]));
        assert_eq!(running.line(), "ready", "{how}");
        be_seen(running.child.id());
        let (_, said) = running.end();
        assert!(said.contains(text), "{how}: {said}");
        assert_eq!(said.matches("segment  ").count(), 1, "{how}: {said}");
        assert!(said.contains("\ntext  "), "{how}: {said}");
    }
}

/// Descriptors that are closed, rights that are dropped, another root: the page that is
/// shared with hugectl is there still.
#[test]
fn a_daemon_that_lets_go_of_all_is_watched() {
    if !nix::unistd::geteuid().is_root() {
        return skip("a daemon without rights", "it needs root").unwrap_or(());
    }
    let dir = tempfile::tempdir().unwrap();
    let empty = dir.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let file = dir.path().join("report");
    let program = format!(
        "use POSIX; $| = 1; POSIX::close($_) for 3..1023; chroot '{}'; chdir '/'; POSIX::setsid(); \
         $) = $( = 65534; $> = $< = 65534; print \"ready\\n\"; <STDIN>; kill 9, $$; sleep 60",
        empty.display()
    );
    let mut command = tool("hugectl");
    command
        .args(["-q", "--shm"])
        .arg(format!("--report={}", file.display()));
    command.args(["perl", "-e", &program]);
    let mut running = Running::start(command);
    assert_eq!(running.line(), "ready");
    be_seen(running.child.id());
    assert_eq!(running.end().0.signal(), Some(9));
    let all = lines(&file, 1);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0]["ended"]["value"], 9);
    assert!(resident(&all[0]) > 0, "{all:?}");
}

/// What was required of one that is killed, and whether it was kept, is told, too.
#[test]
fn what_was_required_is_told() {
    let Some(live) = machine("the report of what was required") else {
        return;
    };
    live.set_pool(120);
    let Some(program) = build("ends", Libc::Glibc, &[]) else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("killed");
    let mut command = tool("hugectl");
    command.args(["-q", "--require=heap:50"]);
    command.arg(format!("--report={}", file.display()));
    command.arg(&program).args(["KILL", "48"]);
    let mut killed = Running::start(command);
    assert_eq!(killed.line(), "ready");
    be_seen(killed.child.id());
    assert_eq!(killed.end().0.signal(), Some(9));
    let all = lines(&file, 1);
    let required = &all[0]["required"][0];
    assert_eq!(
        (&required["segment"], &required["percent"]),
        (&json!("heap"), &json!(50))
    );
    assert_eq!(required["met"], true, "{all:?}");
    assert!(required["huge"].as_u64() >= Some(SIZE << 20), "{all:?}");
}

/// Twenty at once, one file: whole lines, one for each.
#[test]
fn lines_of_many_do_not_mix() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let Some(program) = build("ends", Libc::Glibc, &[]) else {
        return;
    };
    let report = format!("--report={}", file.display());
    let hows = ["exit", "_exit", "KILL", "itself"];
    let mut all: Vec<Running> = (0..20)
        .map(|at| Running::start(hugectl(&report, &program, &[hows[at % hows.len()], "1"])))
        .collect();
    assert!(all.iter_mut().all(|running| running.line() == "ready"));
    let mut pids: Vec<u32> = all
        .iter()
        .map(|running| child_of(running.child.id()))
        .collect();
    for running in &mut all {
        running
            .child
            .stdin
            .as_mut()
            .unwrap()
            .write_all(b"\n")
            .unwrap();
    }
    for mut running in all {
        running.child.wait().unwrap();
    }
    let lines = lines(&file, 20);
    let number = |line: &Value| u32::try_from(line["pid"].as_u64().unwrap()).unwrap();
    let mut told: Vec<u32> = lines.iter().map(number).collect();
    told.sort_unstable();
    pids.sort_unstable();
    assert_eq!(told, pids);
}

/// A program of another user does not reach the page, and one that starts with other
/// rights, or without the library, has nothing to tell by: each has one line.
#[test]
fn what_comes_after_a_starter_has_one_line() {
    if !nix::unistd::geteuid().is_root() {
        return skip("the lines of a starter", "it needs root").unwrap_or(());
    }
    if !others("the lines of a starter", Path::new(env!("HUGETOOLS_HEAP"))) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let file = dir.path().join("report");
    let waits = "select(undef, undef, undef, 0.3);";
    let (ends, dies) = (format!("{waits} exit 3"), format!("{waits} kill 15, $$"));
    let user = &["setpriv", "--reuid=65534", "--clear-groups"][..];
    let exit = json!({"how": "exit", "value": 3});
    let killed = json!({"how": "signal", "value": 15, "out_of_memory": false});
    for (starter, program, ended) in [
        (user, &ends, &exit),
        (user, &dies, &killed),
        (&["setpriv", "--ruid=65534"], &ends, &exit),
        (&["env", "-u", "LD_PRELOAD"], &ends, &exit),
        (&["env", "-u", "LD_PRELOAD"], &dies, &killed),
    ] {
        fs::write(&file, "").unwrap();
        nix::unistd::chown(&file, Some(65534.into()), None).unwrap();
        let report = format!("--report={}", file.display());
        let mut command = hugectl(&report, Path::new(starter[0]), &starter[1..]);
        command.args(["perl", "-e", program]);
        let output = command.output().unwrap();
        assert_eq!(output.stderr, b"", "{starter:?}: {output:?}");
        let all = lines(&file, 1);
        let told = |line: &Value| (line["name"].clone(), line["ended"].clone());
        let told: Vec<_> = all.iter().map(told).collect();
        assert_eq!(told, [(json!("perl"), ended.clone())], "{starter:?}");
    }
}
