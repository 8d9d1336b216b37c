//! A look at a large process costs hardly more than what the kernel needs for it.

use std::process::Command;

use super::Running;
use crate::hugectl::place::Place;
use crate::support::tool::Ran;

const RUNS: usize = 15;

/// 20,000 mappings: each second page has other rights.
const MANY: &str = "
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
int main(void) {
    char *all = mmap(0, 10000 * 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 10000; i++) {
        all[i * 8192] = 1;
        if (mprotect(all + i * 8192 + 4096, 4096, PROT_READ)) return 1;
    }
    puts(\"ready\");
    fflush(stdout);
    return getchar() == 'x';
}";

/// What a command takes of the processors: what else the machine does meanwhile counts
/// little.
fn once(command: &[&str]) -> f64 {
    let mut bash = Command::new("bash");
    bash.args(["-c", "TIMEFORMAT='%U %S'; time \"$@\" >/dev/null", "bash"]);
    let ran: Ran = bash.args(command).output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    let times = ran.err.split_whitespace();
    times.map(|time| time.parse::<f64>().unwrap()).sum()
}

fn median(mut times: Vec<f64>) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Only code that was built to be fast has to be.
#[test]
fn a_look_takes_little_longer_than_reading_smaps() {
    let place = Place::new();
    let running = Running::wait_for(Command::new(place.build("many", MANY, &["-O1"])));
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    let (pid, hugectl) = (running.pid(), place.hugectl());
    let smaps = format!("/proc/{pid}/smaps");
    for _ in 0..RUNS {
        theirs.push(once(&["cat", &smaps]));
        mine.push(once(&[hugectl.to_str().unwrap(), "--status", &pid]));
    }
    let (mine, theirs) = (median(mine), median(theirs));
    let ratio = mine / theirs;
    let limit = if cfg!(debug_assertions) { 1.8 } else { 1.2 };
    assert!(ratio <= limit, "{mine} s against {theirs} s: {ratio:.2}");
}
