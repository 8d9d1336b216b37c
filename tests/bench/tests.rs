//! Tests of the benchmark's statistics, plan, command line and tables.

use clap::Parser;

use super::args::Args;
use super::outcome::{Block, Memory, Outcome, Rounds, Row};
use super::plan::turns;
use super::stats::{median, ratio, spread};
use super::way::Way;
use super::{json, table, work};

#[test]
fn statistics() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
    // Quartiles 1.75 and 3.25 around 2.5.
    assert_eq!(spread(&[1.0, 2.0, 3.0, 4.0]), Some(0.6));
    assert_eq!(spread(&[0.0, 0.0]), None);
    // The ratio of the medians would be 1.
    assert_eq!(ratio(&[2.0, 1.0, 6.0], &[1.0, 2.0, 3.0]), Some(2.0));
    assert_eq!(ratio(&[1.0], &[0.0]), None);
}

#[test]
fn each_round_runs_each_way_once() {
    let works = [Way::ALL.to_vec(), Way::MUSL.to_vec()];
    let plan = turns(4, &works);
    assert_eq!(plan.len(), 8);
    for (place, turn) in plan.iter().enumerate() {
        assert_eq!((turn.round as usize, turn.work), (place / 2, place % 2));
        let mut ways = turn.ways.clone();
        ways.sort();
        assert_eq!(ways, works[turn.work]);
        // The pool is filled or emptied once in a turn.
        let changes = turn.ways.windows(2);
        let changes = changes.filter(|two| two[0].needs_pool() != two[1].needs_pool());
        assert_eq!(changes.count(), 1);
    }
    assert_ne!(
        plan[0].ways[0], plan[2].ways[0],
        "each round has another order"
    );
}

#[test]
fn command_line() {
    let parse = |words: &str| Args::try_parse_from(format!("bench {words}").split_whitespace());
    let all = parse("--bench").unwrap();
    assert!(all.wants("churn") && !all.quick && !all.json);
    assert_eq!((all.rounds(), parse("--quick").unwrap().rounds()), (5, 2));
    let some = parse("churn c++ --rounds 3 --json --bench").unwrap();
    assert!(some.wants("c++") && !some.wants("gups") && some.json);
    let error = parse("chum").unwrap_err().to_string();
    assert!(
        work::names().iter().all(|name| error.contains(name)),
        "{error}"
    );
}

fn rounds(seconds: &[f64], memory: Memory) -> Rounds {
    let mut rounds = Rounds::default();
    for &seconds in seconds {
        rounds.add(&Outcome {
            seconds,
            cpu: seconds / 2.0,
            faults: 100,
            memory,
            ..Outcome::default()
        });
    }
    rounds
}

#[test]
fn tables() {
    let plain = Memory {
        tables: 900,
        peak: 21 << 10,
        anonymous: 20 << 10,
        ..Memory::default()
    };
    let huge = Memory {
        tables: 44,
        pool: 18 << 10,
        huge: 18 << 10,
        ..plain
    };
    let missing = "libmimalloc.so.2.0 is not installed".to_owned();
    let row = |way, result| Row { way, result };
    let blocks = [Block {
        name: "churn".to_owned(),
        title: "sizes".to_owned(),
        rows: vec![
            row(Way::Plain, Ok(rounds(&[2.0, 3.0], plain))),
            row(Way::Mimalloc, Err(missing.clone())),
            row(Way::Ours, Ok(rounds(&[1.0, 1.5], huge))),
        ],
    }];
    let text = table::text(&blocks);
    let lines: Vec<String> = (text.lines().skip(2))
        .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(
        lines,
        [
            "seconds spread ratio cpu s faults tables kB peak MB pool MB huge",
            "",
            "churn: sizes",
            "plain 2.500 20 % 1.00 1.25 100 900 21 0 0 %",
            "mimalloc, large pages: not run: libmimalloc.so.2.0 is not installed",
            "hugectl 1.250 20 % 0.50 0.62 100 44 21 18 90 %",
        ]
    );
    let all = json::document(&blocks, 2, true);
    assert_eq!(all["rows"][0]["seconds"], serde_json::json!([2.0, 3.0]));
    assert_eq!(all["rows"][1]["not_run"], missing);
    let ours = &all["rows"][2];
    assert_eq!((&ours["ratio"], &ours["huge"]), (&0.5.into(), &0.9.into()));
}
