//! Options that show something.

use std::time::Duration;

use clap::{Args, ValueEnum};
use hugetools_model::units::seconds;

/// How the pools are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PoolList {
    /// As libhugetlbfs does.
    Classic,
    /// With all that is counted.
    Long,
}

/// What to show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Show")]
pub struct Show {
    /// Show all pools: page size, minimum, current and maximum pages
    ///
    /// The minimum is the number of pages that the pool keeps; above it, up to the
    /// maximum, the kernel makes pages on demand and gives them back. An
    /// asterisk marks the default page size. =long shows sizes in units, and free,
    /// reserved and surplus pages and the pool's memory, too.
    #[arg(
        long, value_name = "FORM",
        num_args = 0..=1, require_equals = true, default_missing_value = "classic",
    )]
    pub pool_list: Option<PoolList>,

    /// Show each memory node's share of all pools
    #[arg(long)]
    pub pool_list_nodes: bool,

    /// Show the page sizes, in bytes, that can be used: with a pool and a mount
    ///
    /// The pool's maximum must not be 0, and a hugetlbfs of that page size must
    /// be mounted where the caller may read, write and search.
    #[arg(long)]
    pub page_sizes: bool,

    /// Show all huge page sizes of this machine, in bytes
    #[arg(long)]
    pub page_sizes_all: bool,

    /// Show all hugetlbfs mounts and their options
    #[arg(long)]
    pub list_all_mounts: bool,

    /// Show who holds the pages of each pool, and who has them reserved
    ///
    /// Processes with pages of their own; files on hugetlbfs mounts, also deleted
    /// ones that are still open or mapped; System V segments; what is reserved and
    /// not touched yet; control groups. The sums are those of the kernel, or a line
    /// says how many pages are not accounted for. What no process uses is listed with
    /// the command that frees it. Root sees all processes, others their own.
    #[arg(long)]
    pub who: bool,

    /// Show what the kernel counts of huge pages, and how many could be had now
    ///
    /// Faults that got and missed transparent huge pages, in all and by size, splits,
    /// swap, khugepaged, pages made for pools, compaction, and what limits of control
    /// groups refused, since boot; how many pages of each size the free memory of each
    /// node holds, and how many of them could be had without moving anything; what the
    /// pools may still make on demand. What this kernel does not count is unknown.
    #[arg(long)]
    pub stats: bool,

    /// With --stats: again and again, each SECONDS, with what came since the last time
    ///
    /// 2 seconds without a number. A terminal is drawn anew; else tables follow each
    /// other, with --json documents of one line each. Only --json, --sysroot and the
    /// verbosity go with it.
    #[arg(
        long, value_name = "SECONDS",
        num_args = 0..=1, require_equals = true, default_missing_value = "2",
        value_parser = time,
    )]
    pub watch: Option<Duration>,

    /// Show memory, mounts and pools, and what about them is amiss
    ///
    /// Each finding is a fact, what follows from it, and the command that mends
    /// it: carried out, it is gone. What else is good to know comes after them.
    #[arg(long)]
    pub explain: bool,

    /// Print the settings that bring the present state back at boot
    ///
    /// Lines for sysctl.d, fstab, the kernel's command line and tmpfiles.d; each
    /// fact is in one of them only. Nothing is written.
    #[arg(long)]
    pub print_persistent: bool,

    /// Print what somebody who mends a fault needs to see of this machine
    ///
    /// The kernel's files that say something of huge pages, as a recorded machine on
    /// which --sysroot works. No process, user, host or directory is named in it: of
    /// mounts and kernel parameters only those of huge pages are there, and a mount at
    /// a place of its owner's choice is called /mount-N. Root sees a few files more.
    #[arg(long)]
    pub bug_report: bool,
}

impl Show {
    /// Whether there is anything.
    pub fn any(&self) -> bool {
        *self != Show::default()
    }
}

fn time(word: &str) -> Result<Duration, String> {
    seconds::parse(word).ok_or_else(|| seconds::NOT_A_TIME.to_owned())
}
