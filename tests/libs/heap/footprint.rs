//! How much memory a heap takes for what was asked of it: exact figures of the
//! kernel, held against those of other allocators.

use std::path::Path;

use crate::support::live::machine;
use crate::support::long;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

/// What is asked for, and what the better of jemalloc 5.3 and mimalloc 2.0 takes
/// on base pages, in thousandths of that: measured with the same program under
/// `LD_PRELOAD`.
const ROWS: [(&[&str], u64); 24] = [
    (&["blocks", "4368", "200"], 1173),
    (&["blocks", "5120", "200"], 1001),
    (&["blocks", "6600", "200"], 1093),
    (&["blocks", "8208", "200"], 1249),
    (&["blocks", "10300", "200"], 1194),
    (&["blocks", "16400", "200"], 1250),
    (&["blocks", "32800", "200"], 1125),
    (&["blocks", "40000", "200"], 1025),
    (&["blocks", "65600", "200"], 1063),
    (&["blocks", "131088", "400"], 1033),
    (&["blocks", "262160", "400"], 1017),
    (&["blocks", "524304", "400"], 1010),
    (&["blocks", "600000", "400"], 1005),
    (&["blocks", "1100000", "400"], 1003),
    (&["blocks", "1500000", "400"], 1003),
    (&["shifted", "3400000", "100"], 1002),
    (&["rested", "3400000", "100"], 1002),
    (&["aligned", "100000", "300"], 1068),
    (&["aligned", "600000", "100"], 1011),
    (&["aligned", "2400000", "40"], 1003),
    (&["aligned", "5074000", "40"], 1001),
    (&["aligned", "13765000", "20"], 1001),
    (&["threads", "4096", "3"], 1393),
    (&["threads", "16384", "3"], 1135),
];

/// How much more it may be, in hundredths.
const MORE: u64 = 105;

/// The same where blocks of every size up to one are replaced by others all the time: a
/// huge page in which one block lives is there as a whole, and what was freed within the
/// last second, too.
const MIXED: [(&[&str], u64); 4] = [
    (&["replaced", "100000", "1000"], 1375),
    (&["replaced", "300000", "500"], 1368),
    (&["replaced", "1000000", "200"], 1311),
    (&["replaced", "1000000", "1000"], 1263),
];

/// How much more that may be, in hundredths.
const MORE_MIXED: u64 = 125;

/// What is free goes back by the clock, so that a run may end just before: the median of
/// so many holds, and a short test ends with the first that does.
const RUNS: usize = 5;

fn figure(ran: &Ran, name: &str) -> u64 {
    assert_eq!(ran.status, 0, "{ran:?}");
    let word = ran
        .out
        .split_whitespace()
        .find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    word.unwrap().parse().unwrap()
}

fn judge(program: &Path, heap: &str, rows: &[(&[&str], u64)], more: u64) {
    // A short test takes every second row.
    let step = match long::length().as_secs() {
        0..20 => 2,
        _ => 1,
    };
    for (args, others) in rows.iter().step_by(step) {
        let run = || -> u64 {
            let mut command = tool("hugectl");
            command.args([heap, "-q"]).arg(program).args(*args);
            figure(&command.output().unwrap().into(), "thousandths")
        };
        let enough = match long::length().as_secs() {
            0..20 => 1,
            _ => RUNS / 2 + 1,
        };
        let (mut good, mut bad) = (0, Vec::new());
        while good < enough && bad.len() <= RUNS / 2 {
            match run() {
                ours if ours * 100 <= others * more => good += 1,
                ours => bad.push(ours),
            }
        }
        assert!(good >= enough, "{heap} {args:?}: {others}, {bad:?}");
    }
}

/// Nothing of this asks for a pool: other tests may have theirs meanwhile.
#[test]
fn a_heap_takes_no_more_memory_than_others_take() {
    if let Some(program) = build("footprint", Libc::Glibc, &[]) {
        judge(&program, "--heap=thp", &ROWS, MORE);
        judge(&program, "--heap=thp", &MIXED, MORE_MIXED);
    }
}

/// A program may limit its address space at any time (`ulimit -v`), and what is
/// reserved counts: it stays in step with what is in use, however often blocks are
/// replaced.
#[test]
fn address_space_is_in_step_with_the_heap() {
    let Some(program) = build("footprint", Libc::Glibc, &[]) else {
        return;
    };
    for size in ["100000", "1000000"] {
        let mut command = tool("hugectl");
        command.args(["--heap=thp", "-q"]).arg(&program);
        command.args(["replaced", size, "400"]);
        let ran: Ran = command.output().unwrap().into();
        let (space, taken) = (figure(&ran, "space_kb"), figure(&ran, "taken_kb"));
        assert!(space <= 6 * taken + (128 << 10), "{ran:?}");
    }
}

/// Four threads use a block of each of fifty sizes once, 70 to 930 kB: no class of blocks
/// keeps for long what it was filled with.
#[test]
fn what_threads_used_once_goes_back() {
    let Some(program) = build("footprint", Libc::Glibc, &[]) else {
        return;
    };
    let mut command = tool("hugectl");
    command.args(["--heap=thp", "-q"]).arg(&program);
    command.args(["once", "70000", "50"]);
    let ran: Ran = command.output().unwrap().into();
    assert!(figure(&ran, "taken_kb") <= 8 << 10, "{ran:?}");
}

#[test]
fn nor_of_a_pool() {
    let Some(live) = machine("footprint with a pool") else {
        return;
    };
    live.set_pool(300);
    if let Some(program) = build("footprint", Libc::Glibc, &[]) {
        judge(&program, "--heap", &ROWS, MORE);
        assert_eq!(live.free_pages_at_last(300), 300);
    }
}
