//! `--anon` for programs that make their heap of small mappings, as V8 does: these come to
//! lie side by side, in programs that are known for it and in no others.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::program::{Libc, build};
use crate::support::still::{Still, without_pool};
use crate::support::tool::{Ran, tool};

/// As V8 makes its heap, in any program.
const ANY: &str = "256k";

fn ready(test: &str) -> Option<(Still, PathBuf)> {
    let live = without_pool(test)?;
    let program = build("pieces", Libc::Glibc, &[])?;
    live.thp_serves().then_some((live, program))
}

/// Runs it under hugectl, with pieces of such a size.
fn run(options: &[&str], pieces: Option<&str>, program: &Path, args: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.args(options).arg(program).args(args);
    if let Some(pieces) = pieces {
        command.env("HUGETLB_ANON_PIECES", pieces);
    }
    command.output().unwrap().into()
}

fn huge(ran: &Ran) -> u64 {
    assert_eq!(ran.status, 0, "{ran:?}");
    let percent = ran.out.trim().strip_prefix("huge=");
    percent.and_then(|percent| percent.parse().ok()).unwrap()
}

#[test]
fn a_heap_of_small_mappings_is_huge_where_the_program_is_known_for_it() {
    let Some((_live, program)) = ready("a heap of small mappings") else {
        return;
    };
    let args = ["huge", "200"];
    let share = |options: &[&str], pieces| huge(&run(options, pieces, &program, &args));
    let all = share(&["--anon"], Some(ANY));
    assert!(all >= 80, "{all}");
    // What comes and goes keeps its contents, and leaves some as they were.
    let again = huge(&run(
        &["--anon"],
        Some(ANY),
        &program,
        &["huge", "200", "40"],
    ));
    assert!(again >= 40, "{again}");
    assert!(share(&["--anon", "--heap=thp"], Some("256k:other")) <= 5);
    let name = program.file_name().unwrap().to_str().unwrap();
    let named = format!("256k:other:{name}");
    assert!(huge(&run(&["--anon"], Some(&named), &program, &args)) >= 80);
    for (options, pieces) in [
        (&["--anon"][..], None),
        (&["--anon"], Some("64k")),
        (&["--anon", "--fallback=base"], Some(ANY)),
        (&["--report=/dev/null"], Some(ANY)),
    ] {
        assert!(share(options, pieces) <= 5, "{options:?} {pieces:?}");
    }
}

#[test]
fn calls_on_small_mappings_answer_as_without() {
    let Some((_live, _)) = ready("calls on small mappings") else {
        return;
    };
    for libc in Libc::ALL {
        let Some(program) = build("pieces", libc, &[]) else {
            continue;
        };
        for args in [["answers"], ["threads"]] {
            let plain: Ran = Command::new(&program).args(args).output().unwrap().into();
            assert_eq!(plain.status, 0, "{libc:?} {plain:?}");
            for options in [&["--anon"][..], &["--anon", "--heap=thp"]] {
                let ours = run(options, Some(ANY), &program, &args);
                assert_eq!(plain, ours, "{libc:?} {options:?}");
            }
        }
    }
}
