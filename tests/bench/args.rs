//! The command line of `cargo bench`.

use clap::Parser;
use clap::builder::PossibleValuesParser;

use super::work;

/// Ways to run programs with their memory on huge pages, side by side.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "cargo bench --")]
pub(crate) struct Args {
    /// What to run; everything if nothing is named
    #[arg(value_name = "WORKLOAD", value_parser = PossibleValuesParser::new(work::names()))]
    workloads: Vec<String>,

    /// How often each way is timed [default: 5, or 2 with --quick]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    rounds: Option<u32>,

    /// Small sizes: shows that everything works, in three minutes
    #[arg(long)]
    pub(crate) quick: bool,

    /// The result as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// What cargo adds.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Args {
    /// How often each way is timed.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 2 } else { 5 })
    }

    /// Whether a workload is to run.
    pub(crate) fn wants(&self, name: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|wanted| wanted == name)
    }
}
