//! Limits, and the programs that get huge pages.

use std::ffi::OsString;

use clap::Args;

#[derive(Debug, Args)]
#[group(skip)]
#[command(next_help_heading = "How much, and for whom")]
pub(crate) struct Scope {
    /// Limit pool memory of each process
    ///
    /// Counts private memory: SIZE of all pools together, or one Nth of each pool.
    #[arg(long, value_name = "SIZE|1/N")]
    pub(crate) limit: Option<String>,

    /// Move memory to its next toucher's node
    ///
    /// Happens once, when the number of threads has stayed the same for a second, for private
    /// mappings of at least SIZE, 64MB by default. Each huge page goes to the node of the thread
    /// that touches it next. Needs several memory nodes, Linux 6.8 and the right to
    /// userfaultfd(2).
    #[arg(
        long, value_name = "SIZE",
        num_args = 0..=1, require_equals = true, default_missing_value = "64MB",
    )]
    pub(crate) next_touch: Option<String>,

    /// Only programs with these names
    ///
    /// Shells and starters that lead to them get no huge pages.
    #[arg(long, value_name = "NAME[,NAME]")]
    pub(crate) only: Option<OsString>,

    /// Only PROGRAM, not what it starts
    #[arg(long)]
    pub(crate) no_inherit: bool,
}
