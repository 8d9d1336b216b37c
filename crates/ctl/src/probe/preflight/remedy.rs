//! A pool that is short: its state in words, and the command that fills it.

use hugetools_model::hugetlb::pool::{self, Pool};
use hugetools_model::machine::MEMINFO;
use hugetools_model::units::list::format_list;
use hugetools_model::{Bytes, KPath, PageSize};

use crate::probe::kernel::{Share, Source};
use crate::say::shortfall::Shortfall;

/// In which way it has no page.
pub(super) fn shortage(source: &Source) -> String {
    let pool = &source.pool;
    match (pool.total.get(), &source.share) {
        (0, _) => "is empty".to_owned(),
        (total, Some(share)) if pool.available() > share.free => format!(
            "has no page left on {} {}, which this process is bound to ({total} in all)",
            if share.nodes.len() == 1 {
                "node"
            } else {
                "nodes"
            },
            format_list(&share.nodes)
        ),
        (total, _) => format!(
            "has no page left ({total} in all, {} free, {} of them reserved)",
            pool.free, pool.reserved
        ),
    }
}

/// With the command that makes the pool large enough. What segments take is
/// known, what a heap or shared memory will take is not.
pub(crate) fn remedy(short: Shortfall, source: &Source, enough: Bytes) -> Shortfall {
    let size = source.pool.size;
    let nodes = source
        .share
        .as_ref()
        .map(|share| format!("@{}", format_list(&share.nodes)));
    let nodes = nodes.unwrap_or_default();
    let missing = enough.get().saturating_sub(source.available().get());
    let pages = missing.div_ceil(size.get()).max(1);
    let command = format!("hugeadm --pool-pages-min {size}{nodes}:+{pages}");
    let short = match &source.share {
        Some(share) if share.free < source.pool.available() => {
            short.says(node_file(share, size), share.free)
        }
        _ if source.is_hidden => short.says(
            MEMINFO,
            format!("HugePages_Free: {}", free(&source.pool, "HugePages_Rsvd:")),
        ),
        _ => short.says(
            pool_file(&source.pool),
            free(&source.pool, "resv_hugepages"),
        ),
    };
    match short.subject.is_segments() {
        true => short.mend("to fill it", command),
        false => short.mend_at_least("to fill it", command, ", or as many as the program takes"),
    }
}

/// The file that counts a pool's free pages.
fn pool_file(pool: &Pool) -> KPath {
    pool::pool_dir(pool.size).join("free_hugepages")
}

/// The same of some nodes.
fn node_file(share: &Share, size: PageSize) -> String {
    let nodes = match share.nodes.len() {
        1 => format_list(&share.nodes),
        _ => format!("[{}]", format_list(&share.nodes)),
    };
    let pool = format!("hugepages-{}kB", size.kib());
    format!("/sys/devices/system/node/node{nodes}/hugepages/{pool}/free_hugepages")
}

/// What it says; promised pages are free ones, too.
fn free(pool: &Pool, promised: &str) -> String {
    match pool.reserved.get() {
        0 => pool.free.to_string(),
        reserved => format!("{} ({promised} {reserved})", pool.free),
    }
}
