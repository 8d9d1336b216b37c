//! `--pid` on running programs: what becomes huge, what is left, and that memory stays intact.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{
    adoptable, can_adopt, check_sums, huge, huge_share, hugectl, hugectl_json, number,
    single_process,
};
use crate::hugectl::place::{Place, as_nobody};
use crate::support::live::{Group, machine};
use crate::support::needs;
use crate::support::program::{Libc, build};
use crate::support::running::Running;
use crate::support::tool::Run;

#[test]
fn memory_becomes_huge_and_keeps_its_contents() {
    let Some((_machine, mut program)) = adoptable("adopted memory", "anon", "64") else {
        return;
    };
    let subject = Running::ready(&mut program);
    let predicted = hugectl_json(&["--dry-run", "--pid", &subject.pid()]);
    let predicted = single_process(&predicted);
    assert_eq!(huge(&predicted["before"]), 0);
    let adopted = hugectl_json(&["--pid", &subject.pid(), "--budget=100"]);
    let adopted = single_process(&adopted);
    assert_eq!(huge(&adopted["before"]), 0, "a dry run changes nothing");
    assert!(huge_share(adopted) > 0.9, "{adopted:#}");
    // Small mappings may change in the meantime.
    let off = huge(&predicted["after"]).abs_diff(huge(&adopted["after"]));
    assert!(off <= 4 << 20, "{predicted:#} {adopted:#}");
    let again = hugectl_json(&["--pid", &subject.pid()]);
    assert_eq!(
        single_process(&again)["before"]["huge"],
        adopted["after"]["huge"]
    );
    assert_eq!(again["status"], 0);
    assert_eq!(subject.end().out, "same\n");
}

#[test]
fn only_the_named_segments_are_collapsed() {
    let Some((_machine, mut program)) = adoptable("adopted segments", "anon", "32") else {
        return;
    };
    let subject = Running::ready(&mut program);
    let heap = hugectl_json(&["--pid", &subject.pid(), "--heap", "--stack"]);
    let heap = single_process(&heap);
    let mut names = heap["segments"].as_array().unwrap().iter();
    assert!(names.all(|row| row["segment"] == "heap" || row["segment"] == "stack"));
    assert!(huge(&heap["after"]) < 8 << 20, "{heap:#}");
    let anon = hugectl_json(&["--pid", &subject.pid(), "--anon"]);
    assert!(
        huge(&single_process(&anon)["after"]) >= 30 << 20,
        "{anon:#}"
    );
    let table = hugectl(&["--pid", &subject.pid()]);
    assert_eq!((table.status, table.err.as_str()), (0, ""), "{table:?}");
    let lines = ["segment ", "heap ", "anon ", "all ", "moved ", "left "];
    assert!(
        lines.iter().all(|line| table.out.contains(line)),
        "{table:?}"
    );
}

#[test]
fn memory_that_cannot_be_collapsed_has_a_reason() {
    for (kind, option, reason) in [
        ("declined", "--anon", "MADV_NOHUGEPAGE"),
        ("off", "--anon", "PR_SET_THP_DISABLE"),
        ("shared", "--shm", "unaligned shared memory"),
        ("forked", "--anon", "since a fork"),
    ] {
        let Some((_machine, mut program)) = adoptable("memory left as it is", kind, "16") else {
            return;
        };
        let subject = Running::ready(&mut program);
        let found = hugectl_json(&["--pid", &subject.pid(), option]);
        assert_eq!(found["status"], 3, "{kind}: {found:#}");
        let mut left = single_process(&found)["left"].as_array().unwrap().iter();
        let left = left.find(|left| left["reason"].as_str().unwrap().contains(reason));
        let left = left.unwrap_or_else(|| panic!("{kind}: {found:#}"));
        assert!(number(&left["bytes"]) >= 14 << 20, "{kind}: {found:#}");
        assert_eq!(subject.end().out, "same\n");
    }
}

/// The program remaps, discards, protects and forks all the time. Then it executes another program,
/// ends, or goes on.
#[test]
fn a_program_may_change_its_memory_meanwhile() {
    for end in ["remaps", "executes", "ends"] {
        let Some((_machine, mut program)) = adoptable("adopted while it remaps", end, "64") else {
            return;
        };
        let subject = Running::ready(&mut program);
        let pid = subject.pid();
        let until = Instant::now() + Duration::from_secs(2);
        while Instant::now() < until {
            let done = hugectl(&["--pid", &pid, "--budget=100", "--json"]);
            if done.status == 125 {
                assert_ne!(end, "remaps", "{done:?}");
                break;
            }
            assert!([0, 3].contains(&done.status), "{end}: {done:?}");
            let value: Value = serde_json::from_str(&done.out).unwrap();
            check_sums(&value["processes"][0]);
        }
        match end {
            "remaps" => assert_eq!(subject.end().out, "same\n"),
            _ => assert_eq!(subject.end().status, 0, "{end}"),
        }
    }
}

#[test]
fn children_are_included_on_request() {
    let Some((_machine, program)) = adoptable("adopted children", "anon", "16") else {
        return;
    };
    let mut shell = Command::new("sh");
    shell
        .args(["-c", "exec 3<&0; \"$0\" anon 16 <&3; :"])
        .arg(program.get_program());
    let subject = Running::ready(&mut shell);
    let alone = hugectl_json(&["--pid", &subject.pid()]);
    assert_eq!(huge(&single_process(&alone)["after"]), 0);
    let all = hugectl_json(&["--pid", &subject.pid(), "--children"]);
    let all = all["processes"].as_array().unwrap();
    let sum: u64 = all.iter().map(|process| huge(&process["after"])).sum();
    assert!(all.len() == 2 && sum >= 14 << 20, "{all:?}");
    assert_eq!(subject.end().out, "same\n");
}

/// Untouched memory stays free unless `--touched` says otherwise.
#[test]
fn sparse_memory_is_not_filled() {
    for kind in ["sparse", "zeros"] {
        let Some((_machine, mut program)) = adoptable("adopted and sparse", kind, "64") else {
            return;
        };
        let subject = Running::ready(&mut program);
        let pid = subject.pid();
        for words in [&["--dry-run"][..], &[]] {
            let found = hugectl_json(&[&["--pid", &pid, "--anon"], words].concat());
            assert_eq!(found["status"], 0, "{kind}: {found:#}");
            let process = single_process(&found);
            let [before, after] =
                ["before", "after"].map(|time| number(&process[time]["resident"]));
            assert!(after < before + (2 << 20), "{kind}: {found:#}");
            assert!(number(&process["moved"]) <= 2 << 20, "{kind}: {found:#}");
        }
        if kind == "sparse" {
            let found = hugectl_json(&["--pid", &pid, "--anon", "--touched=1"]);
            let process = single_process(&found);
            assert!(number(&process["moved"]) >= 60 << 20, "{found:#}");
            assert!(huge(&process["after"]) >= 60 << 20, "{found:#}");
            let again = hugectl_json(&["--pid", &pid, "--anon", "--touched=1"]);
            assert_eq!(single_process(&again)["moved"], 0, "{again:#}");
        }
        assert_eq!(subject.end().out, "same\n");
    }
}

#[test]
fn the_limit_of_a_control_group_is_respected() {
    let name = "adopted within a limit";
    let Some(live) = machine(name) else { return };
    if !can_adopt(name, live.can_use_thp()) {
        return;
    }
    let Some(group) = Group::of_memory(name, "67108864") else {
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
    let subject = Running::ready(&mut shell);
    let found = hugectl_json(&["--pid", &subject.pid(), "--touched=1"]);
    assert_eq!(found["status"], 3, "{found:#}");
    let process = single_process(&found);
    // A quarter of the limit stays free for the program.
    let after = number(&process["after"]["resident"]);
    assert!(after < 50 << 20, "{found:#}");
    assert!(huge(&process["after"]) >= 8 << 20, "{found:#}");
    assert!(found.to_string().contains("leaves no room"), "{found:#}");
    assert_eq!(subject.end().out, "same\n");
}

#[test]
fn a_missing_capability_is_named() {
    if !needs::root("adopted as nobody") {
        return;
    }
    let place = Place::new();
    let adopt = |script: &str| {
        let mut command = Command::new("sh");
        command.args(["-c", script]).arg(place.hugectl());
        as_nobody(&command).ran()
    };
    let own = adopt("sleep 20 & \"$0\" --pid $!; status=$?; kill $!; exit $status");
    assert_eq!(own.status, 125, "{own:?}");
    for part in ["CAP_SYS_NICE is missing (EPERM)", "setcap cap_sys_nice"] {
        assert!(own.err.contains(part), "{own:?}");
    }
    // Root's process.
    let roots = adopt(&format!("exec \"$0\" --pid {}", std::process::id()));
    assert_eq!(roots.status, 125, "{roots:?}");
    assert!(roots.err.contains("CAP_SYS_"), "{roots:?}");
}
