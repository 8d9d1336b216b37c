//! Tests of the benchmark. None expects a gain.

use clap::Parser;

use super::args::Args;
use super::prepare::Scratch;
use super::{compare, table, work};
use crate::support::live::{can_be_set, skip_aloud};
use crate::support::long::length;

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
    let words = match length().as_secs() {
        0..=1 => "stream gups stride --quick",
        _ => "--quick",
    };
    let (args, scratch) = (parse(words).unwrap(), Scratch::new());
    let mut documents = Vec::new();
    let wanted: Vec<_> = work::ALL.iter().filter(|work| args.wants(work)).collect();
    for work in &wanted {
        let document = compare::run(work, &args, &scratch);
        match document["not_run"].as_str() {
            Some(why) if why.ends_with(" is not installed") || why.contains("too busy") => {
                skip_aloud(&format!("{}: {why}", work.name));
            }
            Some(why) => panic!("{}: {why}", work.name),
            None => {
                let ways = document["ways"].as_array().unwrap();
                assert_eq!(ways.len(), work.ways.split(',').count(), "{document:#}");
                let rated = ways.iter().filter(|way| way["ratio"].as_f64() > Some(0.0));
                assert_eq!(rated.count(), ways.len() - 1, "{document:#}");
            }
        }
        documents.push(document);
    }
    let text = table::text(&documents);
    let has_block = |work: &&work::Work| text.contains(&format!("\n{}: ", work.name));
    assert!(wanted.iter().all(has_block), "{text}");
}
