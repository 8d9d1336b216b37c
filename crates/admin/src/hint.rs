//! What to do next when a step ends otherwise than it was asked to.

use hugetools_model::PageSize;
use hugetools_model::node::NodeId;

use crate::report::Outcome;
use crate::step::{Mount, Pages, Step, What, Write};

/// The second line of a message; `is_root` where root asks.
pub fn hint(step: &Step, outcome: &Outcome, is_root: bool) -> Option<String> {
    match (step, outcome) {
        (Step::Impossible(not), _) => Some(not.hint.clone()),
        (_, Outcome::Short { interrupted: true, .. }) => {
            Some("a signal ended the search for more".to_owned())
        }
        (Step::Write(_), Outcome::Short { asked, got, .. }) if got > asked => Some(format!(
            "{} more are in use or promised: they go when the programs and files that hold them do",
            got - asked
        )),
        (Step::Write(write), Outcome::Short { asked, .. }) => match &write.what {
            What::Pages(pages) => Some(short(pages, *asked)),
            What::Overcommit { .. } | What::Setting => None,
        },
        (Step::Demote(_), Outcome::Short { .. }) => Some(
            "only free pages that are promised to nobody can be split; --json --pool-list counts them"
                .to_owned(),
        ),
        (Step::Write(write), Outcome::Planned) => write
            .refused
            .map(|why| format!("the kernel will refuse this: {why}")),
        (_, Outcome::Failed(failure)) => failed(step, failure.errno?, is_root),
        _ => None,
    }
}

fn short(pages: &Pages, asked: u64) -> String {
    let hard = pages.effort.as_ref().is_some_and(|effort| effort.hard);
    match (pages.memory, pages.node, pages.gigantic) {
        (false, Some(node), _) => format!("node {node} has no memory of its own"),
        (_, node, true) => format!(
            "pages of {} need memory in one piece: reserve them at boot with {}",
            pages.size,
            boot(pages.size, node, asked)
        ),
        (_, node, false) if hard => format!(
            "no more memory is to be had: end programs that hold it, or reserve the pages at boot with {}",
            boot(pages.size, node, asked)
        ),
        _ => "free some memory, or run this again with --hard, which drops caches, adds swap \
              and tries longer"
            .to_owned(),
    }
}

fn failed(step: &Step, errno: i32, is_root: bool) -> Option<String> {
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
        (libc::EINVAL, Step::Write(write)) => invalid(write)?,
        (_, Step::Mount(mount)) => unmountable(mount, errno)?,
        (libc::EBUSY, Step::Unmount(point)) => {
            let point = point.display();
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
            swap.path.display()
        ),
        _ => return None,
    };
    Some(text)
}

fn unmountable(mount: &Mount, errno: i32) -> Option<String> {
    match (errno, mount.min_size) {
        (libc::ENODEV, _) => Some("this kernel has no hugetlbfs (CONFIG_HUGETLBFS)".to_owned()),
        (libc::ENOTDIR | libc::ELOOP, _) => Some(
            "something else than a directory is in the way: remove it and run this again"
                .to_owned(),
        ),
        (libc::ENOMEM, Some(bytes)) => Some(format!(
            "the pool has too few free pages for --min-size: hugeadm --pool-pages-min {}:+{bytes}",
            mount.size
        )),
        _ => None,
    }
}

fn invalid(write: &Write) -> Option<String> {
    match &write.what {
        What::Overcommit { size } => Some(format!(
            "gigantic pages have no overcommit before Linux 6.19: make the pool itself as large \
             with --pool-pages-min {size}:AMOUNT"
        )),
        What::Pages(pages) if pages.gigantic => Some(format!(
            "this kernel makes no pages of {} once it runs: reserve them at boot with {}",
            pages.size,
            boot(pages.size, pages.node, 1)
        )),
        What::Setting if write.file.path.as_str().ends_with("/max_ptes_none") => Some(
            "it is less than the base pages in a huge page: at most 511 with pages of 4 KiB and 2 MiB"
                .to_owned(),
        ),
        What::Pages(_) | What::Setting => None,
    }
}

/// The kernel parameters for so many pages.
pub(crate) fn boot(size: PageSize, node: Option<NodeId>, pages: u64) -> String {
    let size = size.to_string();
    let size = size.trim_end_matches('B');
    match node {
        None => format!("hugepagesz={size} hugepages={pages}"),
        Some(node) => format!("hugepagesz={size} hugepages={node}:{pages}"),
    }
}
