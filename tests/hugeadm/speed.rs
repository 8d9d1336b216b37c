//! Compares the speed with the peer's.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::peer::{PEER, is_here};
use crate::support::tool::tool;

const RUNS: usize = 101;

fn once(program: &str) -> Duration {
    let mut command = Command::new(program);
    command.arg("--pool-list").env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let begin = Instant::now();
    assert!(command.status().unwrap().success());
    begin.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Only optimised builds must be fast. Other load on the machine affects both tools.
#[test]
fn a_listing_takes_no_longer_than_the_peers() {
    if !is_here("the peer's speed") {
        return;
    }
    let ours = tool("hugeadm").get_program().to_str().unwrap().to_owned();
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        theirs.push(once(PEER));
        mine.push(once(&ours));
    }
    let (mine, theirs) = (median(mine), median(theirs));
    let ratio = mine.as_secs_f64() / theirs.as_secs_f64();
    let limit = if cfg!(debug_assertions) { 3.0 } else { 1.2 };
    assert!(ratio <= limit, "{mine:?} against {theirs:?}: {ratio:.2}");
}
