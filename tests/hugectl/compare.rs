//! `--compare`: its verdicts, and what it prints when something fails.

use std::time::{Duration, Instant};

use serde_json::Value;

use crate::support::needs;
use crate::support::tool::{Ran, Run, tool};

fn compare(words: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    command.env("PATH", "/usr/bin:/bin").args(words);
    command.ran()
}

fn ways(words: &[&str]) -> Vec<Value> {
    let ran = compare(words);
    assert_eq!(ran.status, 0, "{ran:?}");
    let document: Value = serde_json::from_str(&ran.out).unwrap();
    document["ways"].as_array().unwrap().clone()
}

#[test]
fn a_ratio_shows_half_the_work() {
    let options = ["--json", "--compare=plain,plain,tunable", "--rounds=8"];
    // Counts down from half of the number if GLIBC_TUNABLES is set.
    let program = "n=100000; test -n \"$GLIBC_TUNABLES\" && n=50000; \
                   while test $((n -= 1)) -gt 0; do :; done";
    let ways = ways(&[&options[..], &["sh", "-c", program]].concat());
    let names: Vec<&str> = ways
        .iter()
        .map(|way| way["way"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["plain", "plain 2", "tunable"]);
    assert_eq!(ways[0]["ratio"], Value::Null);
    let ratio = |at: usize| ways[at]["ratio"].as_f64().unwrap();
    assert!((0.8..1.25).contains(&ratio(1)), "{ways:#?}");
    assert!((0.35..0.75).contains(&ratio(2)), "{ways:#?}");
    // On a busy machine the interval may be too wide for "faster".
    assert_ne!(ways[2]["verdict"], "slower", "{ways:#?}");
    assert_eq!(ways[2]["rounds"], 8);
}

#[test]
fn failures_end_the_comparison() {
    let ran = compare(&["--compare=plain,thp", "sh", "-c", "echo lost >&2; exit 3"]);
    assert_eq!((ran.status, ran.out.as_str()), (3, ""), "{ran:?}");
    assert!(
        ran.err
            .starts_with("lost\nhugectl: error: --compare: sh -c"),
        "{ran:?}"
    );
    let ran = compare(&["--compare=plain,thp", "./no such program"]);
    assert_eq!(ran.status, 127, "{ran:?}");
    let ran = compare(&[
        "--compare=plain,thp",
        "--same-output",
        "sh",
        "-c",
        "echo $$",
    ]);
    assert_eq!(ran.status, 125, "{ran:?}");
    assert!(ran.err.contains("differs from that of plain"), "{ran:?}");
    let ran = compare(&[
        "--compare=plain,thp",
        "--metric=tps: (.*)",
        "echo",
        "tps: none",
    ]);
    assert_eq!(ran.status, 125, "{ran:?}");
    assert!(
        ran.err.contains("gives no number: \"tps: none\""),
        "{ran:?}"
    );
}

#[test]
fn a_signal_ends_the_current_run() {
    let dir = tempfile::tempdir().unwrap();
    // The first run samples memory; the third is timed.
    for ended in ["1", "3"] {
        let runs = dir.path().join(ended);
        let program = "echo >>$0; test $(wc -l <$0) -lt $1 && exit; sleep 0.5; kill $PPID; \
                       exec sleep 40";
        let began = Instant::now();
        let options = ["--compare=plain,plain", "sh", "-c", program];
        let ran = compare(&[&options[..], &[runs.to_str().unwrap(), ended]].concat());
        assert!(ran.out.contains("Interrupted by a signal"), "{ran:?}");
        assert!(began.elapsed() < Duration::from_secs(30), "{ran:?}");
    }
}

#[test]
fn metrics_are_compared() {
    let options = [
        "--json",
        "--compare=plain,thp",
        "--rounds=5",
        "--metric=tps: (.*)",
    ];
    let program = ["--higher-is-better", "echo", "tps: 1,250.5"];
    let ways = ways(&[&options[..], &program[..]].concat());
    assert_eq!(ways[1]["median"], 1250.5);
    assert_eq!(ways[1]["verdict"], "no difference");
    let ran = compare(&[&options[1..], &["echo", "tps: 0"]].concat());
    let message = "thp: no ratio: a value is 0 or negative";
    assert!(ran.out.contains(message), "{ran:?}");
}

#[test]
fn a_server_is_driven_and_stopped() {
    let server = "import socket,time\ns=socket.create_server((\"127.0.0.1\",0))\nprint(s.getsockname()[1],flush=True)\ntime.sleep(99)";
    if !needs::programs("a server", &["python3"]) {
        return;
    }
    let options = [
        "--json",
        "--compare=plain,thp",
        "--rounds=2",
        "--ready=[0-9]+",
    ];
    let program = ["--driver=sleep 0.2", "python3", "-c", server];
    for way in ways(&[&options[..], &program[..]].concat()) {
        assert!(way["median"].as_f64().unwrap() >= 0.2, "{way:#?}");
        assert!(way["peak"].as_u64().unwrap() > 1 << 20, "{way:#?}");
    }
    let ran = compare(&["--compare=plain,thp", "--ready=9", "--driver=false", "true"]);
    assert_eq!(ran.status, 125, "{ran:?}");
    assert!(
        ran.err.contains("the server ended before it was ready"),
        "{ran:?}"
    );
}
