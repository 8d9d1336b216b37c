//! The command line of `cargo bench`.

use clap::Parser;
use clap::builder::PossibleValuesParser;

use super::work::{self, Work};

/// Compares programs on base pages, transparent huge pages and pool pages.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "cargo bench --")]
pub(crate) struct Args {
    /// Workloads to run, or seeds for the classic ones; default: all
    #[arg(value_name = "WORKLOAD", value_parser = PossibleValuesParser::new(work::names()))]
    workloads: Vec<String>,

    /// Small sizes and few rounds, to see that everything works
    #[arg(long)]
    pub(crate) quick: bool,

    /// Time for each workload
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) time: u32,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Args {
    /// Whether a workload is to run.
    pub(crate) fn wants(&self, work: &Work) -> bool {
        let selects = |name: &String| name == work.name || (name == work::SEEDS && work.is_seed);
        self.workloads.is_empty() || self.workloads.iter().any(selects)
    }
}
