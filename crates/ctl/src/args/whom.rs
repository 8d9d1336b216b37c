//! How much of them, and for whom.

use std::ffi::OsString;

use clap::Args;

use super::given::NOT_EMITTED;

/// How much of them, and for whom.
#[derive(Debug, Args)]
#[command(next_help_heading = "How much, and for whom")]
pub struct ForWhom {
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
    #[arg(long, group = NOT_EMITTED)]
    pub no_inherit: bool,
}
