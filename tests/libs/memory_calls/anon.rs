//! `--anon`: large private mappings that a program makes by itself are on huge pages, and
//! behave as they do without.
#![expect(
    clippy::disallowed_methods,
    reason = "moves a process into a control group"
)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

use crate::support::live::Group;
use crate::support::needs::control_groups;
use crate::support::program::{Libc, build};
use crate::support::still::{Still, without_pool};
use crate::support::tool::{Ran, hugectl, tool};

/// Ways to make mappings of which all that is touched is to be huge.
const HUGE: [&str; 8] = [
    "map", "populate", "protect", "pages", "fixed", "steps", "again", "grow",
];

/// And those that stay as they are.
const LEFT: [&str; 4] = ["no", "stack", "small", "number"];

/// What the program says of each way.
#[derive(Debug)]
struct Way {
    huge: u64,
    advised: bool,
    maps: i64,
}

fn ways(ran: &Ran) -> BTreeMap<String, Way> {
    assert_eq!(ran.status, 0, "{ran:?}");
    let way = |line: &str| {
        let mut words = line.split(' ');
        let name = words.next()?.to_owned();
        let mut value = || words.next()?.split_once('=').map(|(_, value)| value);
        let huge = value()?.parse().ok()?;
        let advised = value()? == "yes";
        let maps = value()?.parse().ok()?;
        let way = Way {
            huge,
            advised,
            maps,
        };
        Some((name, way))
    };
    ran.out.lines().filter_map(way).collect()
}

/// Runs a program under hugectl.
fn run(options: &[&str], program: &PathBuf, args: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.args(options).arg(program).args(args);
    command.output().unwrap().into()
}

/// The machine, where private memory has transparent huge pages, and the program.
fn ready(test: &str) -> Option<(Still, PathBuf)> {
    let live = without_pool(test)?;
    let program = build("anon", Libc::Glibc, &[])?;
    live.thp_serves().then_some((live, program))
}

#[test]
fn large_private_mappings_are_huge_and_others_are_not() {
    let Some((_live, _)) = ready("large private mappings") else {
        return;
    };
    for program in Libc::ALL
        .into_iter()
        .filter_map(|libc| build("anon", libc, &[]))
    {
        let all = [&HUGE[..], &["odd"], &LEFT].concat();
        let plain = ways(&Command::new(&program).args(&all).output().unwrap().into());
        let ours = ways(&run(&["--anon"], &program, &all));
        assert_eq!(ours.len(), all.len(), "{ours:?}");
        for way in HUGE {
            let huge = &ours[way];
            assert!(huge.huge >= 90 && huge.advised, "{way}: {huge:?}");
        }
        // One huge page of 3 MiB.
        assert!(ours["odd"].huge >= 60, "{ours:?}");
        for way in LEFT {
            let left = &ours[way];
            assert!(left.huge == 0 && !left.advised, "{way}: {left:?}");
        }
        // What is committed step by step merges as without.
        let maps = |ways: &BTreeMap<String, Way>| ways.values().map(|way| way.maps).sum::<i64>();
        assert!(maps(&ours) <= maps(&plain) + 8, "{plain:?}\n{ours:?}");
    }
}

#[test]
fn addresses_parts_and_errors_are_those_of_a_plain_run() {
    let Some(_live) = without_pool("calls on private mappings") else {
        return;
    };
    if !control_groups("calls on private mappings") {
        return;
    }
    for libc in Libc::ALL {
        let Some(program) = build("anon_calls", libc, &[]) else {
            continue;
        };
        for args in [&[][..], &["confined"]] {
            let plain: Ran = Command::new(&program).args(args).output().unwrap().into();
            assert_eq!(plain.status, 0, "{libc:?} {plain:?}");
            for options in [&["--anon"][..], &["--anon", "--heap=thp"]] {
                let ours = run(options, &program, args);
                assert_eq!(plain, ours, "{libc:?} {options:?}");
            }
        }
    }
}

#[test]
fn a_length_may_be_named_below_which_nothing_is_done() {
    let Some((_live, program)) = ready("the least of mappings") else {
        return;
    };
    let small = ways(&run(&["--anon", "--anon-min=1MB"], &program, &["small"]));
    assert!(small["small"].advised, "{small:?}");
    let large = ways(&run(&["--anon", "--anon-min=65MB"], &program, &["map"]));
    assert!(!large["map"].advised, "{large:?}");
}

#[test]
fn a_size_and_a_fallback_are_told_what_they_come_to() {
    let Some((live, program)) = ready("a size of private mappings") else {
        return;
    };
    let size = format!("--anon={}", live.default_size());
    let ran = run(&[&size], &program, &["map"]);
    let said = format!("WARNING: {size} gets transparent huge pages: pages of a pool can be");
    assert_eq!(ran.err.matches(&said).count(), 1, "{ran:?}");
    assert!(ways(&ran)["map"].huge >= 90, "{ran:?}");
    let ran = run(&["--anon", "--fallback=base"], &program, &["map"]);
    let said = "--anon=thp gets no huge page: --fallback=base rules transparent ones out";
    assert!(ran.err.contains(said), "{ran:?}");
    assert!(!ways(&ran)["map"].advised, "{ran:?}");
}

#[test]
fn whom_it_reaches_is_as_with_others() {
    let Some((_live, program)) = ready("children with private mappings") else {
        return;
    };
    let program = program.to_str().unwrap();
    let script = format!("{program} map; true");
    let name = program.rsplit('/').next().unwrap();
    let only = format!("--only={name}");
    for (options, is_huge) in [
        (&["--anon"][..], true),
        (&["--anon", "--no-inherit"], false),
        (&["--anon", &only], true),
        (&["--anon", "--only=sh"], false),
    ] {
        let mut command = tool("hugectl");
        command.args(options).args(["-q", "sh", "-c", &script]);
        let ran: Ran = command.output().unwrap().into();
        assert_eq!(ways(&ran)["map"].huge >= 90, is_huge, "{options:?} {ran:?}");
    }
}

#[test]
fn a_small_memory_group_is_not_blown() {
    let Some((_live, program)) = ready("private mappings in a group") else {
        return;
    };
    let Some(group) = Group::of_memory("private mappings in a group", "150M") else {
        return;
    };
    let procs = group.path.join("cgroup.procs");
    let limited = |args: &[&str]| -> Ran {
        let mut command = Command::new("sh");
        let enter = format!("echo $$ > {} && exec \"$@\"", procs.display());
        command.args(["-c", &enter, "sh"]).arg(hugectl());
        command.arg("--anon").arg(&program).args(args);
        command.output().unwrap().into()
    };
    // More than is left, but touched in a few places only.
    let ran = limited(&["sparse"]);
    let sparse = &ways(&ran)["sparse"];
    assert!(!sparse.advised, "{ran:?}");
    let said = "private mappings: the memory control group has little left";
    assert_eq!(ran.err.matches(said).count(), 1, "{ran:?}");
    // What is reserved is advised as it is committed, as far as there is room.
    for way in ["fixed", "protect"] {
        let ran = limited(&[way]);
        let committed = &ways(&ran)[way];
        assert!(committed.huge >= 20, "{ran:?}");
    }
    std::fs::read_to_string(&procs).unwrap();
}

#[test]
fn a_program_that_turns_them_off_is_told_once() {
    let Some((_live, program)) = ready("private mappings and prctl") else {
        return;
    };
    let no_thp = build("no_thp", Libc::Glibc, &[]).unwrap();
    let program = program.to_str().unwrap();
    let ran = run(&["--anon", "--report"], &no_thp, &[program, "map", "fixed"]);
    assert!(ways(&ran).values().all(|way| way.huge == 0), "{ran:?}");
    let said = "WARNING: private mappings: transparent huge pages are disabled by prctl";
    assert_eq!(ran.err.matches(said).count(), 1, "{ran:?}");
    let row = ran.err.lines().find(|line| line.starts_with("anon "));
    assert!(row.unwrap().contains("disabled by prctl"), "{ran:?}");
}

#[test]
fn a_report_and_a_look_name_what_is_huge() {
    let Some((_live, program)) = ready("a report of private mappings") else {
        return;
    };
    let ran = run(&["--anon", "--report"], &program, &["map"]);
    let row = ran.err.lines().find(|line| line.starts_with("anon "));
    let row = row.unwrap();
    assert!(row.ends_with("thp") && !row.contains("0.0%"), "{ran:?}");
    let ran = run(&["--anon", "--explain", "--json"], &program, &["map"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let segment = &json["segments"][0];
    assert_eq!(ran.status, 0, "{ran:?}");
    assert_eq!(segment["segment"], "anon");
    assert_eq!(segment["rung"], "thp");
}
