//! Random calls on parts of memory have the same results and effects as without us.

mod anon;

use std::process::Command;
use std::time::Instant;

use crate::support::live::machine;
use crate::support::open_ended;
use crate::support::program::{Libc, build};
use crate::support::tool::{Run, tool};

/// Kinds of memory, and options of hugectl that make it ours.
const KINDS: [(&str, &[&str]); 4] = [
    ("shared", &["--shm"]),
    ("block", &["--heap"]),
    ("shared", &["--heap", "--shm"]),
    ("private", &["--anon"]),
];

/// Pools: empty, one page short of a shared mapping, used up by the heap, ample.
const POOLS: [u64; 4] = [0, 3, 38, 150];

const CALLS: &str = "100";

fn run(mut command: Command, what: &str) -> String {
    let ran = command.ran();
    assert_eq!(ran.status, 0, "{what}: {ran:?}");
    assert!(ran.out.ends_with("end\n"), "{what}: {ran:?}");
    ran.out
}

fn first_difference(plain: &str, ours: &str) -> Option<String> {
    let mut lines = plain.lines().zip(ours.lines());
    let (plain, ours) = lines.find(|(plain, ours)| plain != ours)?;
    Some(format!("plain        {plain}\nwith hugectl {ours}"))
}

fn compare(libc: Libc, (kind, options): (&str, &[&str]), seed: u64, pool: u64) -> Option<()> {
    let program = build("memory_calls", libc, &[])?;
    let what = format!("{libc:?}, {kind} under {options:?}, pool {pool}, seed {seed}");
    let words = [kind, &seed.to_string(), CALLS];
    let mut command = Command::new(&program);
    command.args(words);
    let plain = run(command, &what);
    let mut command = tool("hugectl");
    command.args(options).arg(&program).args(words);
    let ours = run(command, &what);
    assert_eq!(first_difference(&plain, &ours), None, "{what}");
    Some(())
}

#[test]
fn random_calls_return_what_the_kernel_returns() {
    let Some(live) = machine("calls on memory") else {
        return;
    };
    let end = Instant::now() + open_ended::duration();
    let mut seed = 1;
    while seed <= 2 || Instant::now() < end {
        for pool in POOLS {
            live.set_pool(pool);
            // A pass with each libc; musl's compiler may be missing.
            let libc = Libc::ALL[usize::try_from((seed - 1) % 2).unwrap()];
            for kind in KINDS {
                if compare(libc, kind, seed * 10 + pool, pool).is_none() {
                    break;
                }
            }
            assert_eq!(live.wait_for_free_pages(pool), pool, "pages are missing");
        }
        seed += 1;
    }
}
