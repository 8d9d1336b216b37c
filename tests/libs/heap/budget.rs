//! What malloc may take: of the caller's stack, and of system calls.

use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

/// The most of the caller's stack, in bytes.
const DEPTH: usize = 1024;

/// Runs `depth` with some arguments under hugectl.
fn depth(libc: Libc, heap: &str, arguments: &[&str]) -> Option<Ran> {
    let program = build("depth", libc, &["-Wl,-z,now"])?;
    let mut command = tool("hugectl");
    command.arg(heap).arg(program).args(arguments);
    Some(command.output().unwrap().into())
}

/// Each line is a depth and the name of a function.
fn judge(ran: &Ran) {
    assert_eq!(ran.status, 0, "{ran:?}");
    let lines: Vec<_> = ran.out.lines().collect();
    assert!(lines.len() >= 8, "{ran:?}");
    for line in lines {
        let depth = line.split_whitespace().next().unwrap();
        let depth: usize = depth.parse().unwrap();
        assert!(0 < depth && depth <= DEPTH, "{line}\n{ran:?}");
    }
}

#[test]
fn no_call_takes_much_of_the_stack() {
    let judge_all = |heap| {
        let all = Libc::ALL.into_iter();
        all.filter_map(|libc| depth(libc, heap, &["48"]))
            .for_each(|ran| judge(&ran));
    };
    judge_all("--heap=thp");
    let Some(live) = machine("malloc's stack") else {
        return;
    };
    // It runs short, so that there are messages, too.
    live.set_pool(20);
    judge_all("--heap");
}

#[test]
fn a_program_that_confines_itself_gets_the_calls_of_a_malloc_only() {
    let Some(live) = machine("malloc under a filter") else {
        return;
    };
    for pool in [0, 20] {
        live.set_pool(pool);
        for libc in Libc::ALL {
            for way in ["prctl", "syscall"] {
                let Some(ran) = depth(libc, "--heap", &["48", way]) else {
                    continue;
                };
                assert_eq!(ran.status, 0, "{way}: {ran:?}");
                assert!(ran.out.contains(" realloc\n"), "{way}: {ran:?}");
            }
        }
    }
}
