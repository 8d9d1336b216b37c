//! Options for transparent huge pages.

use clap::Args;

/// Modes of transparent huge pages.
pub const ENABLED: [&str; 3] = ["always", "madvise", "never"];

/// Words of `--thp-defrag`.
pub const DEFRAG: [&str; 5] = ["always", "defer", "defer+madvise", "madvise", "never"];

/// Words of `--thp-shmem`.
pub const SHMEM: [&str; 6] = ["always", "within_size", "advise", "never", "deny", "force"];

/// Options for transparent huge pages.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Transparent huge pages")]
pub struct Thp {
    /// Use them for all private memory
    #[arg(long)]
    pub thp_always: bool,

    /// Use them where a program asks for them with MADV_HUGEPAGE
    #[arg(long)]
    pub thp_madvise: bool,

    /// Use none
    ///
    /// If several modes are given, never overrides madvise, and madvise overrides
    /// always.
    #[arg(long)]
    pub thp_never: bool,

    /// Set how many base pages khugepaged scans at a time
    #[arg(long, value_name = "PAGES", value_parser = clap::value_parser!(u32).range(1..))]
    pub thp_khugepaged_pages: Option<u32>,

    /// Set how long khugepaged sleeps after a failed allocation
    #[arg(long, value_name = "MS")]
    pub thp_khugepaged_alloc_sleep: Option<u32>,

    /// Set how long khugepaged sleeps between scans
    #[arg(long, value_name = "MS")]
    pub thp_khugepaged_scan_sleep: Option<u32>,

    /// Set how hard a page fault tries to get one
    #[arg(long, value_name = "MODE", value_parser = DEFRAG)]
    pub thp_defrag: Option<String>,

    /// Set which shared memory and tmpfs files get them
    #[arg(long, value_name = "MODE", value_parser = SHMEM)]
    pub thp_shmem: Option<String>,

    /// Set the mode of one size of multi-size THP (64kB:always); may be repeated
    ///
    /// SIZE:MODE, where MODE is always, inherit (use the global mode), madvise or
    /// never.
    #[arg(long, value_name = "SIZE:MODE")]
    pub thp_size: Vec<String>,

    /// Set how many empty base pages khugepaged may fill to make a huge page
    ///
    /// 0 costs no memory. With 511, the usual value on x86, a single used base page
    /// becomes a whole huge page.
    #[arg(long, value_name = "N")]
    pub thp_max_ptes_none: Option<u32>,

    /// Let memory that is only read share one huge page of zeros: on or off
    #[arg(long, value_name = "SWITCH", value_parser = ["on", "off"])]
    pub thp_use_zero_page: Option<String>,
}

impl Thp {
    /// Whether any option changes something.
    pub(super) fn changes(&self) -> bool {
        *self != Thp::default()
    }
}
