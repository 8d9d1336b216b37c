//! `--anon`: large private mappings are on huge pages, and behave as without us.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::empty_pool::{empty_pool_machine, thp_machine};
use crate::support::live::{Group, machine, skip_aloud};
use crate::support::needs::control_groups;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool};

/// Ways to map memory that must be on huge pages once it is touched.
const HUGE: [&str; 8] = [
    "map", "populate", "protect", "pages", "fixed", "steps", "again", "grow",
];

/// Mappings that are left alone.
const LEFT: [&str; 4] = ["nh", "stack", "small", "raw"];

/// A line of the program.
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

fn run(options: &[&str], program: &Path, args: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.args(options).arg(program).args(args);
    command.ran()
}

#[test]
fn large_private_mappings_are_huge_and_others_are_not() {
    let Some(_live) = thp_machine("large private mappings") else {
        return;
    };
    let program = |libc| build("anon", libc, &[]);
    for program in Libc::ALL.into_iter().filter_map(program) {
        let all = [&HUGE[..], &["odd"], &LEFT].concat();
        let plain = ways(&Command::new(&program).args(&all).ran());
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
        // Mappings merge as without us.
        let maps = |ways: &BTreeMap<String, Way>| ways.values().map(|way| way.maps).sum::<i64>();
        assert!(maps(&ours) <= maps(&plain) + 8, "{plain:?}\n{ours:?}");
    }
}

#[test]
fn addresses_parts_and_errors_are_those_of_a_plain_run() {
    let Some(_live) = empty_pool_machine("calls on private mappings") else {
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
            let plain = Command::new(&program).args(args).ran();
            assert_eq!(plain.status, 0, "{libc:?} {plain:?}");
            let ours = run(&["--anon", "--heap=thp"], &program, args);
            assert_eq!(plain, ours, "{libc:?}");
        }
    }
}

#[test]
fn options_of_private_mappings() {
    let Some(_live) = thp_machine("options of private mappings") else {
        return;
    };
    let Some(program) = build("anon", Libc::Glibc, &[]) else {
        return;
    };
    for (options, way, is_advised) in [
        (&["--anon", "--anon-min=1MB"][..], "small", true),
        (&["--anon", "--anon-min=65MB"], "map", false),
        (&["--anon=2MB"], "map", true),
        (&["--anon", "--fallback=base"], "map", false),
        (&["--anon", "--only=other"], "map", false),
    ] {
        let ran = run(options, &program, &[way]);
        assert_eq!(ways(&ran)[way].advised, is_advised, "{options:?} {ran:?}");
    }
}

#[test]
fn a_small_memory_group_is_not_exceeded() {
    let Some(_live) = thp_machine("private mappings in a group") else {
        return;
    };
    let Some(group) = Group::of_memory("private mappings in a group", "150M") else {
        return;
    };
    let Some(program) = build("anon", Libc::Glibc, &[]) else {
        return;
    };
    let limited = |way: &str| -> Ran {
        let mut command = group.enter(tool("hugectl").arg("--anon"));
        command.arg(&program).arg(way).ran()
    };
    // Larger than the group, but touched in a few places only.
    let ran = limited("sparse");
    assert!(!ways(&ran)["sparse"].advised, "{ran:?}");
    assert_eq!(ran.err.matches("too little left").count(), 1, "{ran:?}");
    // A reservation is advised as it is committed, as far as there is room.
    for way in ["fixed", "protect"] {
        let ran = limited(way);
        assert!(ways(&ran)[way].huge >= 20, "{ran:?}");
    }
}

#[test]
fn a_report_names_huge_mappings_and_why_others_are_not() {
    let Some(_live) = thp_machine("a report of private mappings") else {
        return;
    };
    let programs = build("anon", Libc::Glibc, &[]).zip(build("no_thp", Libc::Glibc, &[]));
    let Some((program, no_thp)) = programs else {
        return;
    };
    let anon = |ran: &Ran| {
        let line = ran.err.lines().find(|line| line.starts_with("anon "));
        line.expect(&ran.err).to_owned()
    };
    let ran = run(&["--anon", "--report"], &program, &["map"]);
    assert!(anon(&ran).ends_with("thp"), "{ran:?}");
    let args = [program.to_str().unwrap(), "map", "fixed"];
    let ran = run(&["--anon", "--report"], &no_thp, &args);
    assert!(ways(&ran).values().all(|way| way.huge == 0), "{ran:?}");
    assert!(anon(&ran).contains("disabled by prctl"), "{ran:?}");
    let warnings = ran.err.lines().filter(|line| line.contains("warning: "));
    assert_eq!(warnings.count(), 1, "{ran:?}");
}

#[test]
fn a_report_says_that_the_size_is_set_to_never() {
    let Some(live) = machine("transparent huge pages of one size") else {
        return;
    };
    let Some(program) = build("anon", Libc::Glibc, &[]) else {
        return;
    };
    let size = live.now().thp.and_then(|thp| thp.pmd_size);
    let never = size.map(|size| live.hugeadm(&[&format!("--thp-size={size}:never")]));
    if never.is_none_or(|ran| ran.status != 0) {
        return skip_aloud("transparent huge pages have no modes by size before Linux 6.8");
    }
    let ran = run(&["--anon", "--report"], &program, &["map"]);
    let reason = "(transparent huge pages of this size are set to never)";
    assert!(ran.err.contains(reason), "{ran:?}");
}
