//! The command line of `cargo bench`.

use clap::Parser;
use clap::builder::PossibleValuesParser;

use super::work;

/// Compares ways to put the memory of programs on huge pages.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "cargo bench --")]
pub(crate) struct Args {
    /// Workloads to run; default: all
    #[arg(value_name = "WORKLOAD", value_parser = PossibleValuesParser::new(work::names()))]
    workloads: Vec<String>,

    /// Rounds of each way [default: 5, or 2 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// Small sizes, to see that everything works, in three minutes
    #[arg(long)]
    pub(crate) quick: bool,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Args {
    /// Returns the rounds of each way.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    /// Whether a workload is to run.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|wanted| wanted == name)
    }
}
