//! Options that change pools.
#![expect(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help, where brackets mean what may be left out"
)]

use clap::Args;

/// What to change about the pools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Pools")]
pub struct Pools {
    /// Set how many pages a pool keeps; may be repeated
    ///
    /// The pool's maximum stays what it was where that is possible: pages that
    /// are taken from the minimum may come back on demand. When the kernel
    /// finds less memory than was asked for, hugeadm joins the free memory and
    /// tries again; when it still falls short, the exit status is 3.
    #[arg(long, value_name = "SPEC")]
    pub pool_pages_min: Vec<String>,

    /// Set how many pages a pool may grow to on demand; may be repeated
    ///
    /// A maximum below the minimum lowers the minimum too. Maximums are set
    /// after all minimums. More than all of the memory is an error; when more pages
    /// are in use than the new maximum, the exit status is 3.
    #[arg(long, value_name = "SPEC")]
    pub pool_pages_max: Vec<String>,

    /// Divide one amount among memory nodes; may be repeated
    ///
    /// SIZE[@NODE[*WEIGHT],...]:AMOUNT. The amount is the total of the nodes
    /// named, divided by their weights (1 where none is written) to the page,
    /// the remainder to the lowest nodes. Without nodes it is divided evenly
    /// among all that have memory.
    #[arg(long, value_name = "SPREAD")]
    pub pool_spread: Vec<String>,

    /// Split free pages into smaller ones; may be repeated
    ///
    /// SIZE[@NODES]:AMOUNT. The kernel says into which size: on x86 a page of
    /// 1GB becomes 512 of 2MB.
    #[arg(long, value_name = "SPEC")]
    pub demote: Vec<String>,

    /// Let the pages come from the nodes that hugeadm's own memory policy allows
    ///
    /// For numactl --membind=1 hugeadm ...; the amount is still the whole
    /// pool's. For exact shares use SIZE@NODES or --pool-spread.
    #[arg(long, visible_alias = "obey-numa-mempol")]
    pub obey_mempolicy: bool,

    /// Keep trying to reach a minimum
    ///
    /// When the pool falls short, drop caches, add temporary swap, and repeat as
    /// long as that brings pages.
    #[arg(long)]
    pub hard: bool,

    /// Let pools grow into the memory that everything else needs
    ///
    /// Without it a request that would leave less memory available than 512 MB, or
    /// than 5% of all, or less than 5% of a node that is named, changes nothing and ends
    /// with status 1. More than all of the memory, or of that node's, is an error in any
    /// case.
    #[arg(long)]
    pub force: bool,

    /// Add a temporary swap file while a pool grows: 5 huge pages, or PAGES of them
    ///
    /// Below /var/lib/hugetlbfs/swap. 0 adds none, with --hard neither.
    #[arg(
        long,
        value_name = "PAGES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "5"
    )]
    pub add_temp_swap: Option<u64>,

    /// Use RAM disks (/dev/ram0 and so on) as swap while a pool grows
    #[arg(long)]
    pub add_ramdisk_swap: bool,

    /// Keep the added swap
    #[arg(long)]
    pub persist: bool,

    /// Give back the kernel's descriptors of new huge pages (HVO): on or off
    ///
    /// Saves 28 KiB per page of 2MB and 16 MiB per page of 1GB. Pages that
    /// exist already stay as they are.
    #[arg(long, value_name = "SWITCH", value_parser = ["on", "off"])]
    pub hvo: Option<String>,
}

impl Pools {
    /// Whether anything is to be changed; the rest only says how.
    pub(super) fn changes(&self) -> bool {
        self.grows()
            || !self.pool_pages_max.is_empty()
            || !self.demote.is_empty()
            || self.hvo.is_some()
    }

    /// Whether a pool may have to grow.
    pub fn grows(&self) -> bool {
        !self.pool_pages_min.is_empty() || !self.pool_spread.is_empty()
    }
}
