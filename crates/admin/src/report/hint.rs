//! Advice after a step that fell short or failed.

use hugetools_model::PageSize;
use hugetools_model::hugetlb::node::NodeId;

use crate::plan::shell::quote_text;
use crate::report::{Failure, Outcome};
use crate::step::{NumberKind, Pages, Step, Value, Write};

/// Returns the advice for a step, the second line of its message.
pub fn hint(step: &Step, outcome: &Outcome, is_root: bool) -> Option<String> {
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
        (Step::Write(write), Outcome::Short { asked, .. }) => match &write.kind {
            NumberKind::Pages(pages) => Some(short_hint(pages, *asked)),
            NumberKind::Overcommit { .. } | NumberKind::Setting => None,
        },
        (_, Outcome::Failed(failure)) => failure_hint(step, failure.errno?, is_root),
        _ => None,
    }
}

fn short_hint(pages: &Pages, asked: u64) -> String {
    let hard = pages.effort.as_ref().is_some_and(|effort| effort.hard);
    let at_boot = at_boot(pages.size, pages.node, asked);
    match pages.gigantic {
        true => format!(
            "pages of {} need contiguous memory: {at_boot}, where the memory is large enough",
            pages.size
        ),
        false if hard => format!(
            "no more memory is available: end programs that use it, or, where the memory is \
             large enough, {at_boot}"
        ),
        false => {
            "free some memory, or run this again with --hard (in hugetools.toml: try = \"hard\"), \
                  which drops caches and tries longer"
                .to_owned()
        }
    }
}

/// Returns the message of a failure outside steps, with advice if rights are missing.
pub fn with_advice(failure: &Failure, is_root: bool) -> String {
    let advice = failure.errno.and_then(|errno| rights_hint(errno, is_root));
    let advice = advice.map(|advice| format!("\n  {advice}"));
    format!("{}{}", failure.error, advice.unwrap_or_default())
}

fn rights_hint(errno: i32, is_root: bool) -> Option<&'static str> {
    match errno {
        libc::EPERM | libc::EACCES if is_root => Some(
            "this requires CAP_SYS_ADMIN on the host, which root of a user namespace or container \
             lacks: run it on the host",
        ),
        libc::EPERM | libc::EACCES => Some("run it as root; --dry-run prints the commands instead"),
        libc::EROFS => Some(
            "the file system is read-only, as in a container: run it on the host or where it is \
             writable",
        ),
        _ => None,
    }
}

fn failure_hint(step: &Step, errno: i32, is_root: bool) -> Option<String> {
    if let Some(hint) = rights_hint(errno, is_root) {
        return Some(hint.to_owned());
    }
    let text = match (errno, step) {
        (libc::EINVAL, Step::Write(write)) => einval_hint(write)?,
        (libc::ENODEV, Step::Mount(_)) => {
            "this kernel has no hugetlbfs (CONFIG_HUGETLBFS)".to_owned()
        }
        (libc::EBUSY, Step::Unmount(point)) => {
            let point = quote_text(&point.to_string_lossy());
            format!(
                "it is in use: fuser -vm {point} shows the programs; end them and run this again"
            )
        }
        (libc::EINVAL, Step::SwapOn(_)) => {
            "swap files need a file system such as ext4 or xfs, not tmpfs, overlayfs or btrfs: add \
             swap elsewhere with swapon(8) and omit this option"
                .to_owned()
        }
        (libc::EEXIST, Step::SwapOn(_)) => {
            "an interrupted run left this swap file, and this run removes it: run the command again"
                .to_owned()
        }
        (libc::ENOMEM, Step::SwapOff(swap)) => format!(
            "its contents don't fit into memory: shrink the pool, then run swapoff {}",
            quote_text(&swap.path.to_string_lossy())
        ),
        (libc::ENOTDIR | libc::EEXIST, Step::MakeDir(_)) => {
            "a file that is not a directory exists there: move it and run this again".to_owned()
        }
        _ => return None,
    };
    Some(text)
}

fn einval_hint(write: &Write) -> Option<String> {
    match (&write.kind, &write.value) {
        (NumberKind::Pages(pages), Value::Plain(asked)) if pages.gigantic => Some(format!(
            "this kernel allocates pages of {} only at boot: {}",
            pages.size,
            at_boot(pages.size, pages.node, *asked)
        )),
        _ => None,
    }
}

/// Advises to reserve pages by kernel parameters.
fn at_boot(size: PageSize, node: Option<NodeId>, pages: u64) -> String {
    let size = size.parameter();
    let node = node.map_or_else(String::new, |node| format!("{node}:"));
    format!("reserve them at boot with hugepagesz={size} hugepages={node}{pages}")
}
