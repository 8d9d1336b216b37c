//! What to do next when a step ends otherwise than it was asked to.

use hugetools_model::hugetlb::node::NodeId;
use hugetools_model::hugetlb::pool::{self, Pool};
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::{Bytes, PageCount, PageSize, Root};

use crate::plan::pool::margin::margin;
use crate::plan::shell::quote_text;
use crate::report::Outcome;
use crate::step::{Mount, MountSize, Pages, Step, Value, What, Write};

/// The second line of a message; `is_root` where root asks. The figures in it are of
/// the pools as they are now.
pub fn hint(step: &Step, outcome: &Outcome, is_root: bool, root: &Root) -> Option<String> {
    match (step, outcome) {
        (Step::Impossible(not), _) => Some(not.hint.clone()),
        (_, Outcome::Short { interrupted: true, .. }) => {
            Some("a signal ended the search for more".to_owned())
        }
        (Step::Write(_), Outcome::Short { asked, got, .. }) if got > asked => Some(format!(
            "the kernel keeps {} more, used or reserved, until the programs and files that hold them end",
            got - asked
        )),
        (Step::Write(write), Outcome::Short { asked, .. }) => match &write.what {
            What::Pages(pages) => Some(short(pages, *asked, root)),
            What::Overcommit { .. } | What::Setting => None,
        },
        (Step::Demote(_), Outcome::Short { .. }) => Some(
            "only free pages that are promised to nobody can be split; --json --pool-list counts them"
                .to_owned(),
        ),
        (Step::Write(write), Outcome::Planned) => write
            .refused
            .map(|why| format!("the kernel will refuse this: {why}")),
        (_, Outcome::Failed(failure)) => failed(step, failure.errno?, is_root, root),
        _ => None,
    }
}

fn short(pages: &Pages, asked: u64, root: &Root) -> String {
    let hard = pages.effort.as_ref().is_some_and(|effort| effort.hard);
    match pages.gigantic {
        true => format!(
            "pages of {} need memory in one piece: {}",
            pages.size,
            at_boot(pages, asked, root)
        ),
        false if hard => format!(
            "no more memory is to be had: end programs that hold it, or {}",
            at_boot(pages, asked, root)
        ),
        false => "free some memory, or run this again with --hard, which drops caches, adds swap \
              and tries longer"
            .to_owned(),
    }
}

fn failed(step: &Step, errno: i32, is_root: bool, root: &Root) -> Option<String> {
    let text = match (errno, step) {
        (libc::EPERM | libc::EACCES, _) if is_root => "this takes CAP_SYS_ADMIN on the machine, \
             which root of a user namespace or of a container has not: run it outside"
            .to_owned(),
        (libc::EPERM | libc::EACCES, _) => {
            "run it as root; with --dry-run it prints what it would do".to_owned()
        }
        (libc::EROFS, _) => "this is mounted read-only, as in a container: run it on the host \
                             or where it is writable"
            .to_owned(),
        (libc::EINVAL, Step::Write(write)) => invalid(write, root)?,
        (_, Step::Mount(mount)) => unmountable(mount, errno, root)?,
        (libc::EBUSY, Step::Unmount(point)) => {
            let point = quote_text(&point.to_string_lossy());
            format!("a program uses it: fuser -vm {point} says which; end it and run this again")
        }
        (libc::ENOTDIR | libc::EEXIST, Step::MakeDir(_)) => {
            "something else than a directory is in the way: move it and run this again".to_owned()
        }
        (libc::ENOSPC, Step::SwapOn(_)) => {
            "there is no room for it: ask for less with --add-temp-swap=PAGES".to_owned()
        }
        (libc::EINVAL, Step::SwapOn(_)) => {
            "its file system cannot hold swap: go without --add-temp-swap".to_owned()
        }
        (libc::ENOMEM, Step::SwapOff(swap)) => format!(
            "what is on it fits nowhere else: make the pool smaller, then swapoff {}",
            quote_text(&swap.path.to_string_lossy())
        ),
        _ => return None,
    };
    Some(text)
}

fn unmountable(mount: &Mount, errno: i32, root: &Root) -> Option<String> {
    match (errno, mount.min_size) {
        (libc::ENODEV, _) => Some("this kernel has no hugetlbfs (CONFIG_HUGETLBFS)".to_owned()),
        (libc::ENOTDIR | libc::ELOOP, _) => Some(
            "something else than a directory is in the way: remove it and run this again"
                .to_owned(),
        ),
        (libc::ENOMEM, Some(min)) => Some(few(mount.size, min, root)),
        _ => None,
    }
}

/// What a pool lacks to reserve so much for a mount.
fn few(size: PageSize, min: MountSize, root: &Root) -> String {
    let mut pools = pools(root).into_iter().flat_map(|(_, pools)| pools);
    let pool = pools.find(|pool| pool.size == size);
    let all = pool.as_ref().map_or(PageCount::ZERO, Pool::minimum);
    let needed = min.pages(size, all);
    let free = pool.map(|pool| pool.available().get());
    match free.filter(|free| *free < needed.get()) {
        Some(free) => format!(
            "--min-size takes {}, and the pool has {free} to give: hugeadm \
             --pool-pages-min {size}:+{}",
            needed.with_noun(),
            needed.get() - free
        ),
        None => format!(
            "the pool had too few free pages for --min-size, which takes {needed}: run this again"
        ),
    }
}

fn invalid(write: &Write, root: &Root) -> Option<String> {
    match &write.what {
        What::Overcommit { size, .. } => Some(format!(
            "gigantic pages have no overcommit before Linux 6.19: make the pool itself as large \
             with --pool-pages-min {size}:AMOUNT"
        )),
        What::Pages(pages) if pages.gigantic => Some(format!(
            "this kernel makes no pages of {} once it runs: {}",
            pages.size,
            match write.value {
                Value::Plain(asked) | Value::AtLeast(asked) => at_boot(pages, asked, root),
                // What a pool's overcommit becomes, and no number of pages.
                Value::Rest { .. } => return None,
            }
        )),
        What::Setting if write.file.path.as_str().ends_with("/max_ptes_none") => Some(
            "it is less than the base pages in a huge page: at most 511 with pages of 4 KiB and 2 MiB"
                .to_owned(),
        ),
        What::Pages(_) | What::Setting => None,
    }
}

/// What makes so many pages at boot; or why that is no way either.
fn at_boot(pages: &Pages, asked: u64, root: &Root) -> String {
    match most_at_boot(pages.size, root) {
        Some(most) if asked > most => format!(
            "ask for fewer, of {asked} pages no more than {most} leave memory enough for everything \
             else"
        ),
        _ => format!(
            "reserve them at boot with {}",
            boot(pages.size, pages.node, asked)
        ),
    }
}

/// How many pages a machine can do without, besides its other pools; `None` where that is
/// not known.
fn most_at_boot(size: PageSize, root: &Root) -> Option<u64> {
    let (meminfo, pools) = pools(root)?;
    let others = pools.iter().filter(|pool| pool.size != size);
    let others = others.filter_map(|pool| pool.size.of(pool.minimum()));
    let others = others.map(Bytes::get).fold(0, u64::saturating_add);
    let total = Some(meminfo.total).filter(|total| total.get() > 0)?;
    let rest = total.get().saturating_sub(margin(total)?);
    Some(rest.saturating_sub(others) / size.get())
}

/// The memory and its pools as they are now.
fn pools(root: &Root) -> Option<(Meminfo, Vec<Pool>)> {
    let meminfo = Meminfo::read(root).ok()?;
    let pools = pool::read(root, &meminfo).ok()?;
    Some((meminfo, pools))
}

/// The kernel parameters for so many pages.
fn boot(size: PageSize, node: Option<NodeId>, pages: u64) -> String {
    let size = size.to_string();
    let size = size.trim_end_matches('B');
    match node {
        None => format!("hugepagesz={size} hugepages={pages}"),
        Some(node) => format!("hugepagesz={size} hugepages={node}:{pages}"),
    }
}
