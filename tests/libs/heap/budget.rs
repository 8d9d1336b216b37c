//! Which system calls malloc may make.

use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

/// Runs `depth` with some arguments under hugectl.
fn depth(libc: Libc, heap: &str, arguments: &[&str]) -> Option<Ran> {
    let program = build("depth", libc, &["-Wl,-z,now"])?;
    let mut command = tool("hugectl");
    command.arg(heap).arg(program).args(arguments);
    Some(command.output().unwrap().into())
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
