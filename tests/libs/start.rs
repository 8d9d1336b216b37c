//! What a start costs.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::still::without_pool;

fn once(words: &[&str]) -> Duration {
    let start = Instant::now();
    let status = Command::new(words[0])
        .args(&words[1..])
        .stdin(Stdio::null())
        .status();
    assert!(status.unwrap().success());
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The ratio of two commands' times, run in turns.
fn ratio(a: &[&str], b: &[&str], times: u32) -> f64 {
    let pairs: Vec<_> = (0..times).map(|_| (once(a), once(b))).collect();
    let of = |pick: fn(&(Duration, Duration)) -> Duration| median(pairs.iter().map(pick).collect());
    of(|pair| pair.0).as_secs_f64() / of(|pair| pair.1).as_secs_f64()
}

/// The release build is what is measured by hand; a build without optimisation
/// is slower in hugectl itself, so here the libraries alone are held to it.
#[test]
fn the_libraries_add_little_to_a_start() {
    let Some(_live) = without_pool("start-up") else {
        return;
    };
    for (library, variables) in [
        (
            env!("HUGETOOLS_PRELOAD"),
            ["HUGETLB_SHM=yes", "HUGETLB_ELFMAP=RW"],
        ),
        (
            env!("HUGETOOLS_HEAP"),
            ["HUGETLB_MORECORE=yes", "HUGETLB_ELFMAP=RW"],
        ),
    ] {
        let preload = format!("LD_PRELOAD={library}");
        // That the program is small is not to be told each time.
        let quiet = "HUGETLB_VERBOSE=1";
        let with = [
            "env",
            &preload,
            variables[0],
            variables[1],
            quiet,
            "/bin/true",
        ];
        let ratios: Vec<f64> = (0..3)
            .map(|_| ratio(&with, &["env", "/bin/true"], 200))
            .collect();
        let best = ratios.iter().copied().fold(f64::INFINITY, f64::min);
        assert!(best <= 1.25, "{library}: {ratios:?}");
    }
}
