//! Options that show something.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// The form of the pool list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PoolList {
    /// libhugetlbfs' columns.
    Classic,
    /// All columns.
    Long,
}

/// Options that show something.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Show")]
pub struct Show {
    /// Show all pools: page size, minimum, current and maximum pages
    ///
    /// Up to the maximum, the kernel allocates pages above the minimum on demand
    /// (surplus pages) and frees them after use. An asterisk marks the default page
    /// size. =long shows sizes with units, and adds free, reserved and surplus
    /// pages and the pool's memory.
    #[arg(
        long, value_name = "FORM",
        num_args = 0..=1, require_equals = true, default_missing_value = "classic",
    )]
    pub pool_list: Option<PoolList>,

    /// Show each memory node's share of all pools
    #[arg(long)]
    pub pool_list_nodes: bool,

    /// Show the usable page sizes in bytes: those with a pool and a mount
    ///
    /// The pool's maximum must not be 0. The caller needs read, write and search
    /// permission on a hugetlbfs mount of that page size.
    #[arg(long)]
    pub page_sizes: bool,

    /// Show all huge page sizes of this machine, in bytes
    #[arg(long)]
    pub page_sizes_all: bool,

    /// Show all hugetlbfs mounts and their options
    #[arg(long)]
    pub list_all_mounts: bool,

    /// Show the users of each pool: who holds pages and who has reserved them
    ///
    /// Lists processes with private pages; files on hugetlbfs mounts, with deleted
    /// ones that are still open or mapped; System V segments; reserved but
    /// untouched pages. The sums match the kernel's counters, or a line shows how many
    /// pages are unaccounted for, such as those of unused files on a container's own
    /// mount. Objects that no process uses are listed with the command that removes
    /// them. Root sees all processes, other users see their own.
    #[arg(long)]
    pub who: bool,

    /// Show the kernel's statistics of huge pages, and how many could be allocated
    /// now
    ///
    /// Since boot: faults with and without transparent huge pages, in total and by
    /// size; splits; swap; khugepaged; pages allocated for pools; compaction. Now:
    /// how many pages of each size the free memory of each node could hold, and how
    /// many of them without moving other pages. Counters that this kernel lacks are
    /// unknown.
    #[arg(long)]
    pub stats: bool,

    /// Show memory, mounts and pools, and problems with them
    ///
    /// Each finding is a fact, its consequence, and a command that solves the
    /// problem. Other facts follow.
    #[arg(long)]
    pub explain: bool,

    /// Show how many pages a program needs, and a pool entry for hugetools.toml
    ///
    /// WHAT is a PID, a program, java:ARGS or, as the server's user, postgres:DATADIR. The pages are of the
    /// default size, or of PostgreSQL's huge_page_size. Of a process it counts the memory
    /// that it has touched by now, all of its shared memory, and what it has reserved in a
    /// pool.
    #[arg(long, value_name = "WHAT")]
    pub size_for: Option<String>,

    /// Print pools, events and control groups as metrics for Prometheus
    #[arg(long)]
    pub metrics: bool,

    /// With --metrics: replace FILE, for the textfile collector of node_exporter
    #[arg(long, value_name = "FILE", requires = "metrics", value_hint = ValueHint::FilePath)]
    pub output: Option<PathBuf>,

    /// Print a description of this machine for a bug report
    ///
    /// Prints the kernel's files about huge pages as a recorded machine for
    /// --sysroot. It contains no names of processes, users, hosts or directories.
    /// Of kernel parameters it contains only those about huge pages and memory, of
    /// mounts only hugetlbfs and control groups; a mount at a non-standard place is
    /// called /mount-N. Root sees a few more files.
    #[arg(long)]
    pub bug_report: bool,
}

impl Show {
    /// Whether any option is set.
    pub fn any(&self) -> bool {
        *self != Show::default()
    }
}
