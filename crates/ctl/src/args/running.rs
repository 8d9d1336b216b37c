//! Options for processes that run already.

use clap::Args;

/// Shared with `--status` and its options, which are in `reports`.
pub(super) const RUNNING: &str = "Running processes";

#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = RUNNING)]
pub(crate) struct Running {
    /// Move running processes to huge pages
    ///
    /// Heap, stack, data, bss and other private memory get transparent huge pages; with --text,
    /// --data, --bss, --heap, --stack, --shm or --anon, only the named segments do.
    #[arg(
        long,
        value_name = "PID|NAME[,...]",
        value_delimiter = ',',
        allow_negative_numbers = true
    )]
    pub(crate) pid: Vec<String>,

    /// With --pid: max. CPU share; default 25
    #[arg(
        long, value_name = "PERCENT",
        value_parser = clap::value_parser!(u8).range(1..=100),
    )]
    pub(crate) budget: Option<u8>,

    /// With --pid: skip sparse huge pages
    ///
    /// Skips a huge page if less than PERCENT of it is touched; the default is 50.
    #[arg(
        long, value_name = "PERCENT",
        value_parser = clap::value_parser!(u8).range(1..=100),
    )]
    pub(crate) touched: Option<u8>,

    /// With --pid: include all descendants
    #[arg(long)]
    pub(crate) children: bool,
}
