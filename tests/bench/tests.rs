//! The benchmark's statistics, plan and tables are right.

use std::path::PathBuf;

use clap::Parser;

use super::args::Args;
use super::outcome::{Block, Cell, Memory, Outcome, Row, Save};
use super::plan::turns;
use super::stats::{median, ratio, spread};
use super::way::{Tools, Way};
use super::{json, table, work};

#[test]
fn a_median_lies_in_the_middle() {
    assert_eq!(median(&[]), None);
    assert_eq!(median(&[3.0]), Some(3.0));
    assert_eq!(median(&[9.0, 1.0, 2.0]), Some(2.0));
    assert_eq!(median(&[4.0, 1.0, 2.0, 100.0]), Some(3.0));
}

#[test]
fn the_spread_is_what_lies_between_the_quartiles() {
    assert_eq!(spread(&[5.0]), Some(0.0));
    // Quartiles 2 and 4 around 3.
    assert_eq!(spread(&[5.0, 3.0, 1.0, 4.0, 2.0]), Some(2.0 / 3.0));
    // Quartiles 1.75 and 3.25 around 2.5.
    assert_eq!(spread(&[1.0, 2.0, 3.0, 4.0]), Some(0.6));
    assert_eq!(spread(&[0.0, 0.0]), None);
}

#[test]
fn a_slow_round_slows_both_sides_of_a_ratio() {
    // Half the time in each round, whatever the round.
    assert_eq!(ratio(&[1.0, 50.0, 2.0], &[2.0, 100.0, 4.0]), Some(0.5));
    // Of the medians it would be 1.
    assert_eq!(ratio(&[2.0, 1.0, 6.0], &[1.0, 2.0, 3.0]), Some(2.0));
    assert_eq!(ratio(&[1.0], &[0.0]), None);
}

#[test]
fn each_round_runs_each_way_once() {
    let works = [Way::ALL.to_vec(), Way::MUSL.to_vec(), vec![]];
    let plan = turns(4, &works);
    assert_eq!(plan.len(), 12);
    for (place, turn) in plan.iter().enumerate() {
        assert_eq!((turn.round as usize, turn.work), (place / 3, place % 3));
        let mut ways = turn.ways.clone();
        ways.sort();
        assert_eq!(ways, works[turn.work]);
        // The pool is filled or emptied once in a turn.
        let changes = turn
            .ways
            .windows(2)
            .filter(|two| two[0].needs_pool() != two[1].needs_pool());
        assert_eq!(changes.count(), usize::from(!ways.is_empty()));
    }
    let first: Vec<Way> = plan
        .iter()
        .filter_map(|turn| turn.ways.first().copied())
        .collect();
    assert_ne!(first[0], first[2], "each round begins with another way");
}

#[test]
fn a_way_is_what_is_before_the_program() {
    let tools = Tools {
        hugectl: PathBuf::from("/ours/hugectl"),
        peer: PathBuf::from("/usr/bin/hugectl"),
        mimalloc: PathBuf::from("/lib/libmimalloc.so.2.0"),
    };
    let shown = Way::ALL.map(|way| {
        let set = way.environment(&tools);
        let set = set
            .into_iter()
            .map(|(name, value)| format!("{name}={value}"));
        format!(
            "{}: {}",
            way.name(),
            set.chain(way.words(&tools)).collect::<Vec<_>>().join(" ")
        )
    });
    assert_eq!(
        shown.join("\n"),
        "plain: \n\
         glibc.malloc.hugetlb=1: GLIBC_TUNABLES=glibc.malloc.hugetlb=1\n\
         hugectl, no pool: /ours/hugectl --heap\n\
         hugectl --auto, no pool: /ours/hugectl --auto\n\
         glibc.malloc.hugetlb=2: GLIBC_TUNABLES=glibc.malloc.hugetlb=2\n\
         mimalloc, large pages: LD_PRELOAD=/lib/libmimalloc.so.2.0 MIMALLOC_LARGE_OS_PAGES=1\n\
         libhugetlbfs: /usr/bin/hugectl --heap\n\
         hugectl: /ours/hugectl --heap"
    );
}

#[test]
fn the_command_line() {
    let parse = |words: &str| Args::try_parse_from(format!("bench {words}").split_whitespace());
    let all = parse("--bench").unwrap();
    assert!(all.wants("churn") && all.wants("bgsave") && !all.quick && !all.json);
    assert_eq!((all.rounds(), parse("--quick").unwrap().rounds()), (5, 2));
    let some = parse("churn c++ --rounds 3 --json --bench").unwrap();
    assert!(some.wants("churn") && some.wants("c++") && !some.wants("gups") && some.json);
    assert_eq!(some.rounds(), 3);
    let wrong = parse("chum").unwrap_err().to_string();
    for name in work::names() {
        assert!(wrong.contains(name), "{wrong}");
    }
    assert!(parse("--rounds 0").is_err());
}

#[test]
fn a_pool_holds_more_than_the_workload() {
    for work in work::ALL {
        for quick in [true, false] {
            let needed = if work.has_musl() { work.size(quick) } else { 0 };
            assert!(work.pool_mib(quick) > needed * 4 / 3, "{}", work.name);
        }
    }
}

fn outcome(seconds: f64, faults: u64, tables: u64, anonymous: u64, huge: u64) -> Outcome {
    let memory = Memory {
        tables,
        peak: anonymous + 1024,
        pool: huge,
        anonymous,
        huge,
    };
    Outcome {
        seconds,
        cpu: seconds / 2.0,
        faults,
        output: String::new(),
        memory,
    }
}

fn row(way: Way, outcomes: &[Outcome]) -> Row {
    let mut cell = Cell::default();
    outcomes.iter().for_each(|outcome| cell.add(outcome));
    Row {
        way,
        result: Ok(cell),
    }
}

fn blocks() -> Vec<Block> {
    let rows = vec![
        row(
            Way::Plain,
            &[
                outcome(2.0, 100, 900, 20480, 0),
                outcome(3.0, 300, 800, 20000, 0),
            ],
        ),
        Row {
            way: Way::Mimalloc,
            result: Err("libmimalloc.so.2.0 is not installed".to_owned()),
        },
        row(
            Way::Ours,
            &[
                outcome(1.0, 7, 40, 10240, 9216),
                outcome(1.5, 9, 44, 8192, 8192),
            ],
        ),
    ];
    vec![Block {
        name: "churn".to_owned(),
        title: "sizes, 20 mib, glibc".to_owned(),
        rows,
    }]
}

#[test]
fn figures_stand_side_by_side() {
    let text = table::ways(&blocks());
    let (head, rest) = text.split_once("\n\n").unwrap();
    assert!(head.contains("2 rounds"), "{head}");
    let lines: Vec<String> = rest
        .lines()
        .map(|line| format!("{}|", line.trim_end()))
        .collect();
    assert_eq!(
        lines.join("\n"),
        "           seconds  spread  ratio  cpu s  faults  tables kB  peak MB  pool MB  huge|\n\
         |\n\
         churn: sizes, 20 mib, glibc|\n\
         \x20 plain      2.500    20 %   1.00   1.25     200        900       21        0   0 %|\n\
         \x20 mimalloc, large pages: not run: libmimalloc.so.2.0 is not installed|\n\
         \x20 hugectl    1.250    20 %   0.50   0.62       8         44       11        9  90 %|"
    );
}

#[test]
fn a_way_that_takes_little_of_its_pool_is_named() {
    let mut blocks = blocks();
    assert!(!table::ways(&blocks).contains("less than half"));
    blocks[0].rows[2] = row(Way::Ours, &[outcome(1.0, 7, 40, 10240, 2048)]);
    let text = table::ways(&blocks);
    let last = text.lines().last().unwrap();
    assert_eq!(
        last,
        "hugectl had less than half of it in the pool: churn (2 of 11 MB)"
    );
}

#[test]
fn json_says_the_same() {
    let save = (
        "plain",
        Ok(Save {
            fork_ms: 4.5,
            ..Save::default()
        }),
    );
    let missing = ("hugectl", Err("there is no redis-server".to_owned()));
    let all = json::document(&blocks(), &[save, missing], 2, true);
    assert_eq!(all["rounds"], 2);
    assert_eq!(all["rows"][0]["seconds"], serde_json::json!([2.0, 3.0]));
    assert_eq!(
        all["rows"][1]["not_run"],
        "libmimalloc.so.2.0 is not installed"
    );
    let ours = &all["rows"][2];
    assert_eq!(
        (&ours["ratio"], &ours["median"]),
        (&0.5.into(), &1.25.into())
    );
    assert_eq!(
        (&ours["page_tables"], &ours["huge"]),
        (&44.into(), &0.9.into())
    );
    assert_eq!(all["bgsave"][0]["fork_ms"], 4.5);
    assert_eq!(all["bgsave"][1]["not_run"], "there is no redis-server");
}

#[test]
fn the_second_table() {
    let save = Save {
        fork_ms: 12.5,
        slowest_before_ms: 1.25,
        slowest_ms: 90.0,
        requests: 20_000.0,
        seconds: 3.5,
        before: 1_024_000.0,
        peak: 2_048_000.0,
        huge_before: 1.0,
        huge_after: 0.25,
    };
    let text = table::saves(
        &[("hugectl", Ok(save)), ("plain", Err("why".to_owned()))],
        "keys",
    );
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[2], "bgsave: keys");
    assert_eq!(
        lines[3].split_whitespace().collect::<Vec<_>>().join(" "),
        "hugectl 1000 2000 12.50 90.00 1.25 20000 3.50 100 % 25 %"
    );
    assert_eq!(lines[4], "  plain: not run: why");
}
