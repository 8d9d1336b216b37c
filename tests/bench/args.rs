//! The command line of `cargo bench`.

use clap::Parser;
use clap::builder::PossibleValuesParser;

use super::work::{self, Work};

/// Compares programs on base pages, transparent huge pages and pool pages.
#[derive(Debug, Clone, PartialEq, Eq, Parser)]
#[command(name = "cargo bench --")]
pub(crate) struct Args {
    /// Workloads to run; default: all
    #[arg(value_name = "WORKLOAD", value_parser = PossibleValuesParser::new(work::ALL.iter().map(|work| work.name)))]
    workloads: Vec<String>,

    /// Small sizes and few rounds, to see that everything works
    #[arg(long)]
    pub(crate) quick: bool,

    /// Time for each workload
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub(crate) time: u32,

    /// Added by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

impl Args {
    /// Whether a workload is to run.
    pub(crate) fn wants(&self, work: &Work) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|name| name == work.name)
    }
}
