//! How much of them, and for whom.

use std::ffi::OsString;

use clap::Args;

use super::given::NOT_EMITTED;

/// How much of them, and for whom.
#[derive(Debug, Args)]
#[command(next_help_heading = "How much, and for whom")]
pub struct ForWhom {
    /// Each process takes at most this much of the pools for its private memory:
    /// SIZE in all, or one part of N of each pool
    #[arg(long, value_name = "SIZE|1/N")]
    pub limit: Option<String>,

    /// Only programs of these names get huge pages, not the shells and starters
    /// that lead to them
    #[arg(long, value_name = "NAME[,NAME]")]
    pub only: Option<OsString>,

    /// Only PROGRAM gets huge pages, not the programs that it starts
    #[arg(long, group = NOT_EMITTED)]
    pub no_inherit: bool,
}
