//! The cost of a start.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::empty_pool::empty_pool_machine;

fn once(words: &[&str]) -> Duration {
    let start = Instant::now();
    let mut command = Command::new(words[0]);
    let status = command.args(&words[1..]).stdin(Stdio::null()).status();
    assert!(status.unwrap().success());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// Returns the ratio of two commands' times, run alternately.
fn ratio(a: &[&str], b: &[&str]) -> f64 {
    let pairs: Vec<_> = (0..100).map(|_| (once(a), once(b))).collect();
    let [a, b] = [
        pairs.iter().map(|pair| pair.0).collect(),
        pairs.iter().map(|pair| pair.1).collect(),
    ]
    .map(median);
    a.as_secs_f64() / b.as_secs_f64()
}

/// The libraries only: this build of hugectl is not optimized. The least of several ratios
/// counts, since other tests run at the same time.
#[test]
fn the_libraries_add_little_to_a_start() {
    let Some(_live) = empty_pool_machine("start-up") else {
        return;
    };
    for (library, variable) in [
        (env!("HUGETOOLS_PRELOAD"), "HUGETLB_SHM=yes"),
        (env!("HUGETOOLS_HEAP"), "HUGETLB_MORECORE=yes"),
    ] {
        let preload = format!("LD_PRELOAD={library}");
        // Verbosity 1 omits the line about a program without whole huge pages.
        let with = [
            "env",
            &preload,
            variable,
            "HUGETLB_ELFMAP=RW",
            "HUGETLB_VERBOSE=1",
            "/bin/true",
        ];
        let mut ratios = Vec::new();
        let is_fast = (0..8).any(|_| {
            let now = ratio(&with, &["env", "/bin/true"]);
            ratios.push(now);
            now <= 1.25
        });
        assert!(is_fast, "{library}: {ratios:?}");
    }
}
