//! Advice after a step that fell short or failed.

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::hugetlb::pool::{self, Pool};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::{Bytes, PageCount, PageSize, Root};

use crate::plan::pool::margin::margin;
use crate::plan::shell::quote_text;
use crate::report::Outcome;
use crate::step::{Mount, MountSize, Pages, Step, Value, What, Write};

/// Returns the second line of a message. `is_root` is the caller's privilege. Figures
/// describe the present state of the pools.
pub fn hint(step: &Step, outcome: &Outcome, is_root: bool, root: &Root) -> Option<String> {
    match (step, outcome) {
        (Step::Impossible(not), _) => Some(not.hint.clone()),
        (
            _,
            Outcome::Short {
                interrupted: true, ..
            },
        ) => Some("a signal ended the search for more pages".to_owned()),
        (Step::Write(_), Outcome::Short { asked, got, .. }) if got > asked => Some(format!(
            "{} more pages are in use or reserved; the kernel frees them when their programs end and their files are removed",
            got - asked
        )),
        (Step::Write(write), Outcome::Short { asked, .. }) => match &write.what {
            What::Pages(pages) => Some(short_hint(pages, *asked, root)),
            What::Overcommit { .. } | What::Setting => None,
        },
        (Step::Demote(_), Outcome::Short { .. }) => Some(
            "only free, unreserved pages can be split; see hugeadm --pool-list=long".to_owned(),
        ),
        (Step::Write(write), Outcome::Planned) => write
            .refused
            .map(|why| format!("the kernel will refuse this: {why}")),
        (_, Outcome::Failed(failure)) => failure_hint(step, failure.errno?, is_root, root),
        _ => None,
    }
}

fn short_hint(pages: &Pages, asked: u64, root: &Root) -> String {
    let hard = pages.effort.as_ref().is_some_and(|effort| effort.hard);
    match pages.gigantic {
        true => format!(
            "pages of {} need contiguous memory: {}",
            pages.size,
            at_boot(pages, asked, root)
        ),
        false if hard => format!(
            "no more memory is available: end programs that use it, or {}",
            at_boot(pages, asked, root)
        ),
        false => "free some memory, or run this again with --hard, which drops caches, adds swap \
              and tries longer"
            .to_owned(),
    }
}

fn failure_hint(step: &Step, errno: i32, is_root: bool, root: &Root) -> Option<String> {
    let text = match (errno, step) {
        (libc::EPERM | libc::EACCES, _) if is_root => "this requires CAP_SYS_ADMIN on the host, \
             which root of a user namespace or container lacks: run it on the host"
            .to_owned(),
        (libc::EPERM | libc::EACCES, _) => {
            "run it as root; --dry-run prints the commands instead".to_owned()
        }
        (libc::EROFS, _) => "the file system is read-only, as in a container: run it on the host \
                             or where it is writable"
            .to_owned(),
        (libc::EINVAL, Step::Write(write)) => einval_hint(write, root)?,
        (_, Step::Mount(mount)) => mount_hint(mount, errno, root)?,
        (libc::EBUSY, Step::Unmount(point)) => {
            let point = quote_text(&point.to_string_lossy());
            format!(
                "it is in use: fuser -vm {point} shows the programs; end them and run this again"
            )
        }
        (libc::ENOTDIR | libc::EEXIST, Step::MakeDir(_)) => {
            "a file that is not a directory exists there: move it and run this again".to_owned()
        }
        (libc::ENOSPC, Step::SwapOn(_)) => {
            "the disk is full: ask for less with --add-temp-swap=PAGES".to_owned()
        }
        (libc::EINVAL, Step::SwapOn(_)) => {
            "its file system doesn't support swap files: omit --add-temp-swap".to_owned()
        }
        (libc::ENOMEM, Step::SwapOff(swap)) => format!(
            "its contents don't fit into memory: shrink the pool, then run swapoff {}",
            quote_text(&swap.path.to_string_lossy())
        ),
        _ => return None,
    };
    Some(text)
}

fn mount_hint(mount: &Mount, errno: i32, root: &Root) -> Option<String> {
    match (errno, mount.min_size) {
        (libc::ENODEV, _) => Some("this kernel has no hugetlbfs (CONFIG_HUGETLBFS)".to_owned()),
        (libc::ENOTDIR | libc::ELOOP, _) => Some(
            "a file that is not a directory exists there: remove it and run this again".to_owned(),
        ),
        (libc::ENOMEM, Some(min)) => Some(min_size_hint(mount.size, min, root)),
        _ => None,
    }
}

/// Tells how many pages a pool lacks for `--min-size`.
fn min_size_hint(size: PageSize, min: MountSize, root: &Root) -> String {
    let mut pools = pools(root).into_iter().flat_map(|(_, pools)| pools);
    let pool = pools.find(|pool| pool.size == size);
    let all = pool.as_ref().map_or(PageCount::ZERO, Pool::minimum);
    let needed = min.pages(size, all);
    let free = pool.map(|pool| pool.available().get());
    match free.filter(|free| *free < needed.get()) {
        Some(free) => format!(
            "--min-size needs {}, but the pool has only {free} available: hugeadm \
             --pool-pages-min {size}:+{}",
            needed.with_noun(),
            needed.get() - free
        ),
        None => format!(
            "the pool had too few free pages for --min-size, which needs {needed}: run this again"
        ),
    }
}

fn einval_hint(write: &Write, root: &Root) -> Option<String> {
    match &write.what {
        What::Overcommit { size, .. } => Some(format!(
            "gigantic pages have no overcommit before Linux 6.19: set the minimum instead \
             with --pool-pages-min {size}:AMOUNT"
        )),
        What::Pages(pages) if pages.gigantic => Some(format!(
            "this kernel allocates pages of {} only at boot: {}",
            pages.size,
            match write.value {
                Value::Plain(asked) | Value::AtLeast(asked) => at_boot(pages, asked, root),
                // An overcommit, which is no number of pages to reserve.
                Value::Rest { .. } => return None,
            }
        )),
        What::Setting if write.file.path.as_str().ends_with("/max_ptes_none") => Some(
            "it must be less than the number of base pages in a huge page: at most 511 with pages of 4 KiB and 2 MiB"
                .to_owned(),
        ),
        What::Pages(_) | What::Setting => None,
    }
}

/// Advises to reserve pages at boot, unless memory is too small for that too.
fn at_boot(pages: &Pages, asked: u64, root: &Root) -> String {
    match most_at_boot(pages.size, root) {
        Some(most) if asked > most => format!(
            "ask for at most {most} pages instead of {asked}, so that enough memory is left for everything \
             else"
        ),
        _ => format!(
            "reserve them at boot with {}",
            boot(pages.size, pages.node, asked)
        ),
    }
}

/// The largest pool at boot that leaves enough memory besides other pools; `None` if
/// unknown.
fn most_at_boot(size: PageSize, root: &Root) -> Option<u64> {
    let (meminfo, pools) = pools(root)?;
    let others = pools.iter().filter(|pool| pool.size != size);
    let others = others.filter_map(|pool| pool.size.of(pool.minimum()));
    let others = others.map(Bytes::get).fold(0, u64::saturating_add);
    let total = Some(meminfo.total).filter(|total| total.get() > 0)?;
    let rest = total.get().saturating_sub(margin(total)?);
    Some(rest.saturating_sub(others) / size.get())
}

/// The present memory and pools.
fn pools(root: &Root) -> Option<(Meminfo, Vec<Pool>)> {
    let meminfo = Meminfo::read(root).ok()?;
    let pools = pool::read(root, &meminfo).ok()?;
    Some((meminfo, pools))
}

/// The kernel parameters that reserve these pages.
fn boot(size: PageSize, node: Option<NodeId>, pages: u64) -> String {
    let size = size.to_string();
    let size = size.trim_end_matches('B');
    match node {
        None => format!("hugepagesz={size} hugepages={pages}"),
        Some(node) => format!("hugepagesz={size} hugepages={node}:{pages}"),
    }
}
