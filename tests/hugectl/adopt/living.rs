//! What a program keeps, and what happens to it meanwhile.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Subject, document, huge, hugectl, is_possible, is_sound, number, only, share};
use crate::support::live::machine;
use crate::support::needs;
use crate::support::program::{Libc, build};
use crate::support::still::without_pool;

/// A program with so many megabytes of a kind of memory, which checks them at the end.
fn program(kind: &str, megabytes: &str) -> Option<Subject> {
    let program = build("adopt", Libc::Glibc, &[])?;
    Some(Subject::start(
        Command::new(program).args([kind, megabytes]),
    ))
}

#[test]
fn memory_becomes_huge_and_stays_as_it_was() {
    let Some(live) = without_pool("adopted memory") else {
        return;
    };
    if !is_possible("adopted memory", live.thp_serves()) {
        return;
    }
    let Some(subject) = program("anon", "64") else {
        return;
    };
    let foreseen = document(&["--dry-run", "--pid", &subject.pid()]);
    let foreseen = only(&foreseen);
    assert_eq!(huge(&foreseen["before"]), 0);
    let adopted = document(&["--pid", &subject.pid(), "--budget=100"]);
    let adopted = only(&adopted);
    assert_eq!(huge(&adopted["before"]), 0, "a dry run changes nothing");
    assert!(share(adopted) > 0.9, "{adopted:#}");
    // Its own pages of zeros and its stack may move meanwhile.
    let off = huge(&foreseen["after"]).abs_diff(huge(&adopted["after"]));
    assert!(off <= 4 << 20, "{foreseen:#} {adopted:#}");
    // There is nothing left to be done.
    let again = document(&["--pid", &subject.pid()]);
    assert_eq!(only(&again)["before"]["huge"], adopted["after"]["huge"]);
    assert_eq!(again["status"], 0);
    assert_eq!(subject.last(), "same");
}

#[test]
fn the_segments_that_are_named_are_meant() {
    let Some(live) = without_pool("adopted segments") else {
        return;
    };
    if !is_possible("adopted segments", live.thp_serves()) {
        return;
    }
    let Some(subject) = program("anon", "32") else {
        return;
    };
    let heap = document(&["--pid", &subject.pid(), "--heap", "--stack"]);
    let heap = only(&heap);
    let mut names = heap["segments"].as_array().unwrap().iter();
    assert!(names.all(|row| row["segment"] == "heap" || row["segment"] == "stack"));
    assert!(huge(&heap["after"]) < 8 << 20, "{heap:#}");
    let anon = document(&["--pid", &subject.pid(), "--anon"]);
    assert!(huge(&only(&anon)["after"]) >= 30 << 20, "{anon:#}");
    let table = hugectl(&["--pid", &subject.pid()]);
    assert_eq!((table.status, table.err.as_str()), (0, ""), "{table:?}");
    let lines = ["segment ", "heap ", "anon ", "all ", "moved ", "left "];
    assert!(
        lines.iter().all(|line| table.out.contains(line)),
        "{table:?}"
    );
}

#[test]
fn what_cannot_be_has_its_reason() {
    let Some(live) = without_pool("adopted, and not") else {
        return;
    };
    if !is_possible("adopted, and not", live.thp_serves()) {
        return;
    }
    for (kind, options, reason) in [
        ("declined", &["--anon"][..], "MADV_NOHUGEPAGE"),
        ("off", &["--anon"], "PR_SET_THP_DISABLE"),
        ("shared", &["--shm"], "set to never (shmem_enabled)"),
        ("forked", &["--anon"], "since a fork"),
    ] {
        let Some(subject) = program(kind, "16") else {
            return;
        };
        let found = document(&[&["--pid", &subject.pid()], options].concat());
        assert_eq!(found["status"], 3, "{kind}: {found:#}");
        let process = only(&found);
        let mut left = process["left"].as_array().unwrap().iter();
        let is_it = |left: &&serde_json::Value| left["reason"].as_str().unwrap().contains(reason);
        let left = left.find(is_it);
        let left = left.unwrap_or_else(|| panic!("{kind}: {found:#}"));
        assert!(number(&left["bytes"]) >= 14 << 20, "{kind}: {found:#}");
        assert_eq!(subject.last(), "same");
    }
}

/// It maps, unmaps, discards, protects and forks all the time, then becomes another
/// program, then ends.
#[test]
fn whatever_the_program_does_meanwhile_harms_nobody() {
    let Some(live) = without_pool("adopted and restless") else {
        return;
    };
    if !is_possible("adopted and restless", live.thp_serves()) {
        return;
    }
    for end in ["restless", "executes", "ends"] {
        let Some(mut subject) = program(end, "64") else {
            return;
        };
        let pid = subject.pid();
        let until = Instant::now() + Duration::from_secs(3);
        let mut runs = 0;
        while Instant::now() < until {
            let done = hugectl(&["--pid", &pid, "--budget=100", "--json"]);
            runs += 1;
            if done.status == 125 {
                assert_ne!(end, "restless", "{done:?}");
                break;
            }
            assert!([0, 3].contains(&done.status), "{end}: {done:?}");
            let value: serde_json::Value = serde_json::from_str(&done.out).unwrap();
            is_sound(&value["processes"][0]);
        }
        assert!(runs > 0);
        match end {
            "restless" => assert_eq!(subject.last(), "same"),
            _ => assert!(subject.child.wait().unwrap().success(), "{end}"),
        }
    }
}

#[test]
fn a_watch_follows_what_is_allocated_later() {
    let Some(live) = without_pool("adopted later") else {
        return;
    };
    if !is_possible("adopted later", live.thp_serves()) {
        return;
    }
    let Some(subject) = program("grows", "48") else {
        return;
    };
    let words = ["--pid", &subject.pid(), "--watch=0.2", "--json"];
    let mut command = crate::support::tool::tool("hugectl");
    let watch = command.args(words).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(subject.last(), "same");
    let output = watch.wait_with_output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let looks: Vec<u64> = text
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|value| huge(&value["processes"][0]["after"]))
        .collect();
    let most = looks.iter().max().copied().unwrap();
    assert!(looks.len() > 2 && looks[0] < most, "{looks:?}");
    assert!(most >= 44 << 20, "{looks:?}");
}

#[test]
fn children_come_with_it() {
    let Some(live) = without_pool("adopted children") else {
        return;
    };
    if !is_possible("adopted children", live.thp_serves()) {
        return;
    }
    let Some(program) = build("adopt", Libc::Glibc, &[]) else {
        return;
    };
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "exec 3<&0; \"$0\" anon 16 <&3; :"])
        .arg(program);
    let subject = Subject::start(&mut shell);
    let alone = document(&["--pid", &subject.pid()]);
    assert_eq!(huge(&only(&alone)["after"]), 0);
    let all = document(&["--pid", &subject.pid(), "--children"]);
    let all = all["processes"].as_array().unwrap();
    let sum: u64 = all.iter().map(|it| huge(&it["after"])).sum();
    assert!(all.len() == 2 && sum >= 14 << 20, "{all:?}");
    assert_eq!(subject.last(), "same");
}

/// What a program has given back stays so, but where all of it is asked for.
#[test]
fn what_is_hardly_touched_is_left() {
    let name = "adopted, and sparse";
    let Some(live) = without_pool(name) else {
        return;
    };
    if !is_possible(name, live.thp_serves()) {
        return;
    }
    for kind in ["sparse", "zeros"] {
        let Some(subject) = program(kind, "64") else {
            return;
        };
        let pid = subject.pid();
        for words in [&["--dry-run"][..], &[]] {
            let found = document(&[&["--pid", &pid, "--anon"], words].concat());
            assert_eq!(found["status"], 0, "{kind}: {found:#}");
            let process = only(&found);
            let [before, after] =
                ["before", "after"].map(|time| number(&process[time]["resident"]));
            assert!(after < before + (2 << 20), "{kind}: {found:#}");
            assert!(number(&process["moved"]) <= 2 << 20, "{kind}: {found:#}");
        }
        if kind == "sparse" {
            let found = document(&["--pid", &pid, "--anon", "--touched=1"]);
            let process = only(&found);
            assert!(number(&process["moved"]) >= 60 << 20, "{found:#}");
            assert!(huge(&process["after"]) >= 60 << 20, "{found:#}");
            let again = document(&["--pid", &pid, "--anon", "--touched=1"]);
            assert_eq!(only(&again)["moved"], 0, "{again:#}");
        }
        assert_eq!(subject.last(), "same");
    }
}

/// A limit of memory is not gone over: what would only grow stays as it is.
#[test]
fn a_memory_group_is_not_overdrawn() {
    let Some(live) = machine("adopted within a limit") else {
        return;
    };
    if !is_possible("adopted within a limit", live.thp_serves()) {
        return;
    }
    let name = "adopted within a limit";
    let Some(group) = crate::support::live::Group::of_memory(name, "67108864") else {
        return;
    };
    let Some(program) = build("adopt", Libc::Glibc, &[]) else {
        return;
    };
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "echo $$ >\"$1/cgroup.procs\"; exec \"$0\" sparse 256"])
        .arg(program)
        .arg(&group.path);
    let subject = Subject::start(&mut shell);
    let found = document(&["--pid", &subject.pid(), "--touched=1"]);
    assert_eq!(found["status"], 3, "{found:#}");
    let process = only(&found);
    // A quarter of it is left for what the program does next.
    let after = number(&process["after"]["resident"]);
    assert!(after < 50 << 20, "{found:#}");
    assert!(huge(&process["after"]) >= 8 << 20, "{found:#}");
    assert!(found.to_string().contains("leaves no room"), "{found:#}");
    assert_eq!(subject.last(), "same");
}

/// As nobody: which right is missing, and what to do.
#[test]
fn a_missing_right_is_named() {
    if !super::super::place::is_root("adopted as nobody")
        || !needs::programs("adopted as nobody", &["setpriv"])
    {
        return;
    }
    let script = "sleep 20 & \"$0\" --pid $!; status=$?; kill $!; exit $status";
    let mut command = Command::new("setpriv");
    command.args([
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "sh",
        "-c",
    ]);
    let place = super::super::place::Place::new();
    let done = command.arg(script).arg(place.hugectl()).output().unwrap();
    let done = super::super::place::done(&done);
    assert_eq!(done.status, 125, "{done:?}");
    assert!(
        done.err.contains("CAP_SYS_NICE is missing (EPERM)"),
        "{done:?}"
    );
    assert!(done.err.contains("setcap cap_sys_nice"), "{done:?}");
    // One that is another's.
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let own = std::process::id().to_string();
    command.arg(place.hugectl()).args(["--pid", &own]);
    let done = super::super::place::done(&command.output().unwrap());
    assert_eq!(done.status, 125, "{done:?}");
    assert!(done.err.contains("CAP_SYS_"), "{done:?}");
}
