//! What to compare, and when to stop.

use std::ffi::OsString;
use std::time::Duration;

use regex_lite::Regex;

use crate::way::Way;

/// The settings of a comparison.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The ways; the first is plain.
    pub ways: Vec<Way>,
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// When to stop.
    pub stop: Stop,
    /// `--metric`
    pub metric: Option<Metric>,
    /// `--driver` and `--ready`
    pub server: Option<Server>,
    /// `--same-output`
    pub same_output: bool,
}

/// When to stop. `within` and `time` apply after [`Stop::LEAST`] rounds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Stop {
    /// `--rounds`: the most rounds.
    pub rounds: Option<u32>,
    /// `--within`: stops when each interval is narrower than this part of its ratio.
    pub within: f64,
    /// `--time`
    pub time: Duration,
}

impl Stop {
    /// The fewest rounds, unless `rounds` is less.
    pub const LEAST: u32 = 5;
}

impl Default for Stop {
    fn default() -> Stop {
        Stop {
            rounds: None,
            within: 0.01,
            time: Duration::from_secs(60),
        }
    }
}

/// A figure that the program or the driver prints.
#[derive(Debug, Clone)]
pub struct Metric {
    /// The number is its first group, or the whole match.
    pub regex: Regex,
    /// `--higher-is-better`
    pub higher_is_better: bool,
}

impl Metric {
    /// Returns the last figure in an output.
    pub fn find(&self, output: &str) -> Option<f64> {
        let last = self.regex.captures_iter(output).last()?;
        let word = last.get(1).or_else(|| last.get(0))?;
        word.as_str().replace(',', "").parse().ok()
    }
}

/// A server, and the command that uses it.
#[derive(Debug, Clone)]
pub struct Server {
    /// The driver: a shell command whose time is compared.
    pub driver: OsString,
    /// When the driver starts.
    pub ready: Ready,
}

/// The sign of a server that is ready.
#[derive(Debug, Clone)]
pub enum Ready {
    /// It accepts connections at this port of 127.0.0.1.
    Port(u16),
    /// It prints a line that matches.
    Line(Regex),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_is_the_last_match() {
        let metric = |regex: &str| Metric {
            regex: Regex::new(regex).unwrap(),
            higher_is_better: true,
        };
        let output = "tps = 1.5 (warm-up)\ntps = 12,034.25 (all)\n";
        assert_eq!(metric(r"tps = ([\d.,]+)").find(output), Some(12034.25));
        assert_eq!(metric(r"\d+\.\d+").find("x 2.50"), Some(2.5));
        assert_eq!(metric(r"GB/s: (.*)").find(output), None);
    }
}
