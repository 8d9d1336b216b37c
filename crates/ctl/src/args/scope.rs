//! Limits, and the programs that get huge pages.

use std::ffi::OsString;

use clap::Args;

/// Limits, and the programs that get huge pages.
#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "How much, and for whom")]
pub struct Scope {
    /// Limit pool memory of each process
    ///
    /// Counts private memory: SIZE of all pools together, or one Nth of each pool.
    #[arg(long, value_name = "SIZE|1/N")]
    pub limit: Option<String>,

    /// Only programs with these names
    ///
    /// Shells and starters that lead to them get no huge pages.
    #[arg(long, value_name = "NAME[,NAME]")]
    pub only: Option<OsString>,

    /// Only PROGRAM, not what it starts
    #[arg(long)]
    pub no_inherit: bool,
}
