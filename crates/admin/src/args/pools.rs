//! Options that change pools.
#![expect(
    rustdoc::broken_intra_doc_links,
    reason = "these comments are the help, where brackets mean what may be left out"
)]

use clap::Args;

/// Options that change pools.
#[derive(Debug, Clone, PartialEq, Eq, Default, Args)]
#[command(next_help_heading = "Pools")]
pub struct Pools {
    /// Set the minimum number of pages of a pool; may be repeated
    ///
    /// The pool's maximum stays the same where possible, so the kernel may allocate
    /// removed pages again on demand. When the kernel finds too few pages, hugeadm
    /// compacts memory and tries again. When the pool still falls short, the exit
    /// status is 3.
    #[arg(long, value_name = "SPEC")]
    pub pool_pages_min: Vec<String>,

    /// Set the maximum number of pages of a pool, counting surplus pages; may be
    /// repeated
    ///
    /// A maximum below the minimum lowers the minimum too. Maximums are set after
    /// all minimums. A maximum larger than RAM is rejected. When more pages are in
    /// use than the new maximum, the exit status is 3.
    #[arg(long, value_name = "SPEC")]
    pub pool_pages_max: Vec<String>,

    /// Divide one amount among memory nodes; may be repeated
    ///
    /// SIZE[@NODE[*WEIGHT],...]:AMOUNT. The amount is the total for the given
    /// nodes, divided by their weights (default 1). The lowest nodes get the
    /// remainder. Without nodes, all nodes with memory get equal shares.
    #[arg(long, value_name = "SPREAD")]
    pub pool_spread: Vec<String>,

    /// Allocate pages only from the nodes in hugeadm's own memory policy
    ///
    /// Use it under numactl, as in numactl --membind=1 hugeadm ... The requested
    /// amount still counts the pages on all nodes. For exact shares use SIZE@NODES
    /// or --pool-spread.
    #[arg(long, visible_alias = "obey-numa-mempol")]
    pub obey_mempolicy: bool,

    /// Try hard to reach a minimum
    ///
    /// When the pool falls short, drop caches, and try again as long as that finds
    /// more pages. --add-temp-swap helps where little swap is free.
    #[arg(long)]
    pub hard: bool,

    /// Let pools take memory that other programs need
    ///
    /// Without this option, hugeadm refuses a request that would leave less than
    /// 512 MB or 5% of RAM available, whichever is more, or less than 5% of a given
    /// node, and exits with status 1. A request larger than RAM, or larger than the
    /// node's memory, is always rejected.
    #[arg(long)]
    pub force: bool,

    /// Add a temporary swap file of PAGES huge pages (default 5) while a pool grows
    ///
    /// It is created below /var/lib/hugetlbfs/swap. 0 adds none.
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

    /// Free the kernel's descriptors of new huge pages (HVO): on or off
    ///
    /// Saves 28 KiB per page of 2MB and 16 MiB per page of 1GB. Doesn't affect
    /// existing pages.
    #[arg(long, value_name = "SWITCH", value_parser = ["on", "off"])]
    pub hvo: Option<String>,

    /// Shrink all pools to the pages in use, and unmount as --unmount does
    ///
    /// Surplus pages are no longer allowed: the maximum is lowered to the minimum.
    /// Other options take effect afterwards.
    #[arg(long)]
    pub clear: bool,
}

impl Pools {
    /// Whether any option changes pools. The other options only say how.
    pub(super) fn changes(&self) -> bool {
        self.grows() || !self.pool_pages_max.is_empty() || self.hvo.is_some() || self.clear
    }

    /// Whether any option may grow a pool.
    pub fn grows(&self) -> bool {
        !self.pool_pages_min.is_empty() || !self.pool_spread.is_empty()
    }
}
