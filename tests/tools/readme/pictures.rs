//! The pictures of README: made from a real run and from its table.

use std::io::Write;
use std::process::Stdio;

use crate::support::bless;
use crate::support::live::machine;
use crate::support::svg::{self, Interval};
use crate::support::tool::{self, Ran};

const TERMINAL: &str = "tests/expected/readme/terminal.svg";
const GAINS: &str = "tests/expected/readme/gains.svg";

/// Returns a text with each number as one digit and each gap as one space.
pub(super) fn without_numbers(text: &str) -> String {
    let digits = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c });
    let text: String = digits.collect();
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut text = words.join(" ");
    while text.contains("00") {
        text = text.replace("00", "0");
    }
    text
}

fn hugectl(words: &[&str]) -> Vec<String> {
    let mut command = tool::tool("hugectl");
    let ran: Ran = command
        .args(words)
        .env("PATH", "/usr/bin:/bin")
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.status, 0, "{ran:?}");
    ran.out.lines().map(str::to_owned).collect()
}

/// Returns a terminal's lines before, during and after a run of sort.
fn a_run() -> Vec<String> {
    let mut lines = vec!["$ hugectl --explain --heap sort".to_owned()];
    let explained = hugectl(&["--explain", "--heap", "sort"]);
    lines.extend(
        explained
            .into_iter()
            .take_while(|line| !line.starts_with("Good to know")),
    );
    let mut command = tool::tool("hugectl");
    command
        .args(["--heap", "--report", "/usr/bin/sort", "-S", "200M"])
        .env("LC_ALL", "C");
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let numbers: String = (0..2_000_000).map(|number| format!("{number}\n")).collect();
    input.write_all(numbers.as_bytes()).unwrap();
    let parent = child.id();
    let sort = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children")).unwrap();
    lines.push("$ hugectl --heap --report sort -S 200M <numbers >sorted &".to_owned());
    lines.push(format!("$ hugectl --status {}", sort.trim()));
    lines.extend(hugectl(&["--status", sort.trim()]));
    drop(input);
    let ran: Ran = child.wait_with_output().unwrap().into();
    lines.push(String::new());
    lines.push("$ wait".to_owned());
    lines.extend(ran.err.lines().map(str::to_owned));
    lines
}

#[test]
fn the_picture_of_a_run_is_real() {
    let Some(live) = machine("README's picture") else {
        return;
    };
    live.set_pool(200);
    assert_eq!(live.wait_for_free_pages(200), 200);
    let now = svg::terminal(&a_run());
    let is_same = without_numbers(&now) == without_numbers(&bless::text(TERMINAL));
    if !is_same {
        bless::compare(TERMINAL, &now).unwrap();
    }
}

/// Parses `1.45 (1.34 to 1.56)`, with or without asterisks; inverted if less is better.
fn interval(cell: &str, less_is_better: bool) -> Option<Interval> {
    let numbers: String = cell.replace("to", " ").replace(['*', '(', ')'], " ");
    let numbers: Vec<f64> = numbers
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect();
    match numbers[..] {
        [ratio, low, high] if less_is_better => Some(Interval {
            ratio: 1.0 / ratio,
            low: 1.0 / high,
            high: 1.0 / low,
        }),
        [ratio, low, high] => Some(Interval { ratio, low, high }),
        _ => None,
    }
}

#[test]
fn the_picture_of_the_gains_is_the_table() {
    let text = bless::text("README.md");
    let rows = text
        .lines()
        .filter(|line| line.starts_with("| `") && line.contains(" to "));
    let row = |line: &str| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let name = cells[1].split('`').nth(1).unwrap().to_owned();
        let less = ["stride", "noise", "noise-off", "java"].contains(&name.as_str());
        (name, [interval(cells[3], less), interval(cells[4], less)])
    };
    let rows: Vec<_> = rows.map(row).collect();
    assert!(rows.len() >= 8, "{rows:?}");
    let kinds = ["transparent huge pages", "pool of 2 MB pages"];
    bless::compare(GAINS, &svg::gains(kinds, &rows)).unwrap();
}
