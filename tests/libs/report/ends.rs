//! However a program ends, its report has one line with the reason.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{SAMPLING_TIME, child_of, hugectl, lines, resident, row};
use crate::support::live::Group;
use crate::support::needs::{self, nobody_can_run};
use crate::support::program::{Libc, build};
use crate::support::running::Running;
use crate::support::tool::tool;

/// Ways to end, the reported reason and value, and whether memory was read at the very end.
const ENDS: [(&str, &str, Option<i32>, bool); 10] = [
    ("return", "exit", None, true),
    ("exit", "exit", Some(3), true),
    ("_exit", "exit", Some(3), true),
    ("syscall", "exit", Some(3), true),
    ("inline-syscall", "exit", Some(3), false),
    ("quick", "exit", Some(3), false),
    ("TERM", "signal", Some(15), false),
    ("KILL", "signal", Some(9), false),
    ("SEGV", "signal", Some(11), false),
    ("ABRT", "signal", Some(6), false),
];

/// The program's memory in MiB.
const SIZE: u64 = 48;

#[test]
fn each_way_to_end_reports_one_line() {
    let dir = tempfile::tempdir().unwrap();
    for libc in Libc::ALL {
        let Some(program) = build("ends", libc, &[]) else {
            continue;
        };
        // All run at the same time, since they mostly wait.
        let started = ENDS.map(|(how, ..)| {
            let file = dir.path().join(format!("{libc:?}-{how}"));
            let report = format!("--report={}", file.display());
            let size = SIZE.to_string();
            let mut command = hugectl(&report, &program, &[how, &size]);
            command.env("PMI_RANK", "12").env("SLURM_PROCID", "3");
            (Running::ready(&mut command), file)
        });
        std::thread::sleep(SAMPLING_TIME);
        for ((running, file), (how, ended, value, is_exact)) in started.into_iter().zip(ENDS) {
            let what = format!("{libc:?} {how}");
            let parent = running.id();
            let pid = child_of(parent);
            let ran = running.end();
            let signal = value.filter(|_| ended == "signal");
            let status = signal.map_or(3, |signal| 128 + signal);
            assert_eq!((ran.status, ran.err.as_str()), (status, ""), "{what}");
            let all = lines(&file, 1);
            let [line] = &all[..] else {
                panic!("{what}: {all:?}");
            };
            let ids = ["pid", "parent", "rank"].map(|name| line[name].clone());
            assert_eq!(
                ids,
                [json!(pid), json!(parent), json!(12)],
                "{what}: {line}"
            );
            assert_eq!(line["ended"]["how"], ended, "{what}: {line}");
            assert_eq!(line["ended"]["value"], json!(value), "{what}: {line}");
            assert!(resident(line) >= SIZE << 20, "{what}: {line}");
            let peak = line["peak"]["resident"].as_u64();
            assert!(peak >= Some(SIZE << 20), "{what}: {line}");
            let time = |name: &str| line[name].as_f64().unwrap();
            let (seen, end) = (time("seen"), time("end"));
            // The last sample may fall into the same millisecond as the end.
            assert!(seen == end || !is_exact && seen < end, "{what}: {line}");
            assert!(time("start") < time("seen"), "{what}: {line}");
        }
    }
}

/// A failed exec does not end a program, and a child has its own start time.
#[test]
fn a_shell_and_each_child_have_a_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let report = format!("--report={}", file.display());
    let args = ["-c", "sleep 0.3; /bin/true; exec /no/such/program"];
    let mut shell = hugectl(&report, Path::new("/bin/sh"), &args);
    assert_eq!(shell.output().unwrap().status.code(), Some(127));
    let all = lines(&file, 3);
    assert_eq!(all.len(), 3, "{all:?}");
    let time = |name: &str, field: &str| {
        let line = all.iter().find(|line| line["name"] == name);
        line.expect(name)[field].as_f64().unwrap()
    };
    assert!(
        time("true", "start") - time("sleep", "start") > 0.28,
        "{all:?}"
    );
    assert!(time("true", "start") <= time("true", "end"), "{all:?}");
    assert!(time("true", "end") <= time("sh", "end"), "{all:?}");
}

/// Doesn't use SIGKILL: its report may name an OOM kill that another test caused.
#[test]
fn a_report_is_printed_after_a_signal() {
    let Some(program) = build("ends", Libc::Glibc, &[]) else {
        return;
    };
    let running = Running::ready(&mut hugectl("--report", &program, &["TERM", "1"]));
    std::thread::sleep(SAMPLING_TIME);
    let err = running.end().err;
    assert!(err.contains("ended by signal 15 (SIGTERM) after "), "{err}");
    assert_eq!(err.matches("segment  ").count(), 1, "{err}");
    assert!(!row(&err, "text").is_empty(), "{err}");
}

/// A daemon closes its descriptors, calls chroot and drops its privileges. The page that it shares
/// with hugectl stays mapped.
#[test]
fn the_death_of_a_confined_daemon_is_reported() {
    if !needs::root("a confined daemon") {
        return;
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
    let report = format!("--report={}", file.display());
    let mut command = tool("hugectl");
    command.args(["-q", "--shm", &report, "perl", "-e", &program]);
    let running = Running::ready(&mut command);
    std::thread::sleep(SAMPLING_TIME);
    assert_eq!(running.end().status, 128 + 9);
    let all = lines(&file, 1);
    assert_eq!(all.len(), 1, "{all:?}");
    assert_eq!(all[0]["ended"]["value"], 9);
    assert!(resident(&all[0]) > 0, "{all:?}");
}

#[test]
fn concurrent_lines_do_not_mix() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let Some(program) = build("ends", Libc::Glibc, &[]) else {
        return;
    };
    let report = format!("--report={}", file.display());
    let ends = ["exit", "_exit", "KILL", "inline-syscall"];
    let start =
        |index: usize| Running::start(&mut hugectl(&report, &program, &[ends[index % 4], "1"]));
    let mut all: Vec<Running> = (0..20).map(start).collect();
    assert!(all.iter_mut().all(|running| running.line() == "ready"));
    let ids = all.iter().map(|running| child_of(running.id()));
    let mut pids: Vec<u64> = ids.map(u64::from).collect();
    std::thread::scope(|scope| {
        for running in all {
            scope.spawn(|| running.end());
        }
    });
    let pid_of = |line: &Value| line["pid"].as_u64().unwrap();
    let mut found: Vec<u64> = lines(&file, 20).iter().map(pid_of).collect();
    found.sort_unstable();
    pids.sort_unstable();
    assert_eq!(found, pids);
}

/// hugectl writes the line if the program can't map the shared page or lacks the library: its
/// starter changes the user or unsets LD_PRELOAD.
#[test]
fn a_program_without_the_shared_page_has_one_line() {
    if !needs::root("the lines of a starter") {
        return;
    }
    if !nobody_can_run("the lines of a starter", Path::new(env!("HUGETOOLS_HEAP"))) {
        return;
    }
    let exit = json!({"how": "exit", "value": 3});
    let killed = json!({"how": "signal", "value": 15, "out_of_memory": false});
    for (starter, program, ended) in [
        (
            &["setpriv", "--reuid=65534", "--clear-groups"][..],
            "kill 15, $$",
            &killed,
        ),
        (&["setpriv", "--ruid=65534"], "exit 3", &exit),
        (&["env", "-u", "LD_PRELOAD"], "exit 3", &exit),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(dir.path(), mode).unwrap();
        let file = dir.path().join("report");
        fs::write(&file, "").unwrap();
        nix::unistd::chown(&file, Some(65534.into()), None).unwrap();
        let report = format!("--report={}", file.display());
        let mut command = hugectl(&report, Path::new(starter[0]), &starter[1..]);
        let output = command.args(["perl", "-e", program]).output().unwrap();
        assert_eq!(output.stderr, b"", "{starter:?}: {output:?}");
        let ends: Vec<Value> = lines(&file, 1).iter().map(|l| l["ended"].clone()).collect();
        assert_eq!(ends, std::slice::from_ref(ended), "{starter:?}");
    }
}

#[test]
fn an_oom_kill_is_named() {
    let Some(group) = Group::of_memory("the report of an OOM kill", "64M") else {
        return;
    };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let Some(program) = build("ends", Libc::Glibc, &[]) else {
        return;
    };
    let report = format!("--report={}", file.display());
    let running = Running::ready(&mut hugectl(&report, &program, &["grow", "16"]));
    std::thread::sleep(SAMPLING_TIME);
    // hugectl stays outside the group.
    group.add(child_of(running.id()));
    let ran = running.end();
    assert_eq!(ran.status, 128 + 9, "{ran:?}");
    let all = lines(&file, 1);
    let ended = json!({"how": "signal", "value": 9, "out_of_memory": true});
    assert_eq!(all[0]["ended"], ended, "{all:?}");
    assert!(resident(&all[0]) >= 16 << 20, "{all:?}");
}
