//! Calls on parts of memory of ours, drawn at random: each gives what it gives in
//! a plain run, leaves the same contents, and allows the same.

mod anon;
mod deepbind;

use std::process::Command;
use std::time::Instant;

use crate::support::live::machine;
use crate::support::long;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

/// Which memory, and with which options of hugectl it is ours.
const ROWS: [(&str, &[&str]); 4] = [
    ("shared", &["--shm"]),
    ("block", &["--heap"]),
    ("shared", &["--heap", "--shm"]),
    ("private", &["--anon"]),
];

/// No pool, one too small for any of it, one that the heap uses up, an ample one.
const POOLS: [u64; 4] = [0, 3, 38, 150];

const CALLS: &str = "100";

/// What a program wrote; on standard error come our own lines.
fn run(mut command: Command, what: &str) -> String {
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 0, "{what}: {ran:?}");
    assert!(ran.out.ends_with("end\n"), "{what}: {ran:?}");
    ran.out
}

fn first_difference(plain: &str, ours: &str) -> Option<String> {
    let mut lines = plain.lines().zip(ours.lines());
    let (plain, ours) = lines.find(|(plain, ours)| plain != ours)?;
    Some(format!("plainly  {plain}\nunder us {ours}"))
}

fn compare(libc: Libc, row: usize, seed: u64, pool: u64) -> Option<()> {
    let program = build("memory_calls", libc, &[])?;
    let (kind, options) = ROWS[row];
    let what = format!("{libc:?}, {kind} under {options:?}, pool {pool}, seed {seed}");
    let words = [kind, &seed.to_string(), CALLS];
    let mut command = Command::new(&program);
    command.args(words);
    let plain = run(command, &what);
    let mut command = tool("hugectl");
    command.args(options).arg(&program).args(words);
    let ours = run(command, &what);
    let difference = first_difference(&plain, &ours);
    assert_eq!(difference, None, "{what}");
    Some(())
}

#[test]
fn calls_on_parts_of_memory_answer_as_the_kernel_does() {
    let Some(live) = machine("calls on memory") else {
        return;
    };
    let end = Instant::now() + long::length();
    let mut seed = 1;
    while seed == 1 || Instant::now() < end {
        for pool in POOLS {
            live.set_pool(pool);
            let libc = Libc::ALL[usize::try_from(seed % 2).unwrap()];
            for row in 0..ROWS.len() {
                if compare(libc, row, seed * 10 + pool, pool).is_none() {
                    return;
                }
            }
            assert_eq!(live.free_pages_at_last(pool), pool, "pages are left");
        }
        seed += 1;
    }
}
