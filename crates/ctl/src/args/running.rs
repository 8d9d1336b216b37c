//! Options for running programs.

use clap::Args;

/// Heading of the options for running programs.
pub(super) const RUNNING: &str = "Running programs";

#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = RUNNING)]
pub(crate) struct Running {
    /// Move a program's memory to huge pages
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

    /// With --pid: share of a CPU; default 25
    #[arg(
        long, value_name = "PERCENT",
        value_parser = clap::value_parser!(u8).range(1..=100),
    )]
    pub(crate) budget: Option<u8>,

    /// With --pid: skip less touched pages
    ///
    /// Skips a huge page if less than PERCENT of it is touched; the default is 50.
    #[arg(
        long, value_name = "PERCENT",
        value_parser = clap::value_parser!(u8).range(1..=100),
    )]
    pub(crate) touched: Option<u8>,

    /// With --pid: their children, too
    #[arg(long)]
    pub(crate) children: bool,
}
