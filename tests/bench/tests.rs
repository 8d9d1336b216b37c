//! Tests of the benchmark. None expects a gain.

use clap::Parser;

use super::args::Args;
use super::prepare::Scratch;
use super::{compare, work};
use crate::support::live::{can_be_set, skip_aloud};
use crate::support::open_ended::duration;
use crate::support::tool::Run;

fn parse(words: &str) -> Result<Args, clap::Error> {
    Args::try_parse_from(format!("bench {words}").split_whitespace())
}

#[test]
fn command_line() {
    let wanted = |words: &str| {
        let args = parse(words).unwrap();
        let all = work::ALL.iter().filter(|work| args.wants(work));
        all.map(|work| work.name).collect::<Vec<_>>()
    };
    assert_eq!(wanted("--bench").len(), work::ALL.len());
    assert_eq!(wanted("stride gups --quick --bench"), ["gups", "stride"]);
    assert!(parse("strid").is_err());
}

/// Runs three workloads in C; with `HUGETOOLS_SECONDS` above 1, all installed ones.
#[test]
fn workloads_have_ratios() {
    if !can_be_set("the workloads") {
        return;
    }
    let words = match duration().as_secs() {
        0..=1 => "stream gups stride --quick",
        _ => "--quick",
    };
    let (args, scratch) = (parse(words).unwrap(), Scratch::new());
    for work in work::ALL.iter().filter(|work| args.wants(work)) {
        let (_pool, mut command) = match compare::command(work, &args, &scratch, &["--json"]) {
            Ok(prepared) => prepared,
            Err(why) if why.ends_with(" is not installed") => {
                skip_aloud(&format!("{}: {why}", work.name));
                continue;
            }
            Err(why) => panic!("{}: {why}", work.name),
        };
        let ran = command.ran();
        if ran.out.contains("too busy") || ran.err.contains("too busy") {
            skip_aloud(&format!("{}: the machine is too busy", work.name));
            continue;
        }
        let document: serde_json::Value = serde_json::from_str(&ran.out).expect(&ran.err);
        let ways = document["ways"].as_array().expect(&ran.err);
        let count = work.ways.split(',').count();
        assert_eq!(ways.len(), count, "{}: {document:#}", work.description);
        let rated = ways.iter().filter(|way| way["ratio"].as_f64() > Some(0.0));
        assert_eq!(rated.count(), ways.len() - 1, "{document:#}");
    }
}
