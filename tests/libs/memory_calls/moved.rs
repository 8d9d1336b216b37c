//! `--anon`: `mremap` of memory that a kernel has as one mapping, and has in parts where
//! huge pages were advised for some of it, comes to what it does without. What it has in
//! parts in any run is refused in any.

use std::path::Path;
use std::process::Command;

use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

/// With these seeds calls failed whose old range was in parts, each for a reason of its own.
const SEEDS: [&str; 8] = ["4", "46", "47", "52", "84", "101", "109", "119"];

const CALLS: &str = "60";

fn is_as_without(program: &Path, args: &[&str]) {
    let plain: Ran = Command::new(program).args(args).output().unwrap().into();
    assert!(
        plain.status == 0 && plain.out.ends_with("end\n"),
        "{plain:?}"
    );
    for options in [&["--anon"][..], &["--anon", "--heap=thp"]] {
        let mut command = tool("hugectl");
        command.args(options).arg(program).args(args);
        let ours: Ran = command.output().unwrap().into();
        let mut lines = plain.out.lines().zip(ours.out.lines());
        let differs = lines.find(|(plain, ours)| plain != ours);
        assert_eq!(differs, None, "{args:?} {options:?}");
        assert_eq!(ours, plain, "{args:?} {options:?}");
    }
}

#[test]
fn what_is_in_parts_moves_as_one() {
    let Some(live) = machine("moves of memory in parts") else {
        return;
    };
    live.set_pool(0);
    for libc in Libc::ALL {
        let Some(program) = build("moved_parts", libc, &[]) else {
            continue;
        };
        is_as_without(&program, &["cases"]);
        for seed in SEEDS {
            is_as_without(&program, &["draw", seed, CALLS]);
        }
    }
}
