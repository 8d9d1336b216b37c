//! A look at a large process costs hardly more than what the kernel needs for it.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::place::Place;
use super::status::Running;

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

fn once(command: &mut Command) -> Duration {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let begin = Instant::now();
    assert!(command.status().unwrap().success());
    begin.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Only code that was built to be fast has to be; what else the machine does
/// meanwhile befalls both.
#[test]
fn a_look_takes_little_longer_than_reading_smaps() {
    let place = Place::new();
    let running = Running::wait_for(Command::new(place.build("many", MANY, &["-O1"])));
    let (mut mine, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..RUNS {
        let smaps = format!("/proc/{}/smaps", running.pid());
        theirs.push(once(Command::new("cat").arg(smaps)));
        mine.push(once(&mut place.command(&["--status", &running.pid()])));
    }
    let (mine, theirs) = (median(mine), median(theirs));
    let ratio = mine.as_secs_f64() / theirs.as_secs_f64();
    let limit = if cfg!(debug_assertions) { 4.0 } else { 1.2 };
    assert!(ratio <= limit, "{mine:?} against {theirs:?}: {ratio:.2}");
}
