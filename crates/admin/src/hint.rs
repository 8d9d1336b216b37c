//! What to do next when a step ends otherwise than it was asked to.

use hugetools_model::PageSize;

use crate::plan::{Step, What, Write};
use crate::report::Outcome;

/// The second line of a message.
pub fn hint(step: &Step, outcome: &Outcome) -> Option<String> {
    match (step, outcome) {
        (Step::Impossible(not), _) => Some(not.hint.clone()),
        (Step::Write(write), Outcome::Short { asked, .. }) => short(write, *asked),
        (Step::Write(write), Outcome::Planned) => write
            .refused
            .map(|why| format!("the kernel will refuse this: {why}")),
        (_, Outcome::Failed(failure)) => failed(step, failure.errno?),
        _ => None,
    }
}

fn short(write: &Write, asked: u64) -> Option<String> {
    match write.what {
        What::Pages {
            node: Some(node),
            memory: false,
            ..
        } => Some(format!("node {node} has no memory of its own")),
        What::Pages {
            size,
            gigantic: true,
            ..
        } => Some(format!(
            "pages of {size} need memory in one piece: reserve them at boot with {}",
            boot(size, asked)
        )),
        What::Pages { .. } => Some(
            "free some memory, join its pieces with `echo 1 > /proc/sys/vm/compact_memory`, \
             and run this again"
                .to_owned(),
        ),
        What::Overcommit { .. } | What::Setting => None,
    }
}

fn failed(step: &Step, errno: i32) -> Option<String> {
    let text = match (errno, step) {
        (libc::EPERM | libc::EACCES, _) => {
            "run it as root; with --dry-run it prints what it would do".to_owned()
        }
        (libc::EROFS, _) => "this is mounted read-only, as in a container: run it on the host \
                             or where it is writable"
            .to_owned(),
        (libc::EINVAL, Step::Write(write)) => invalid(write)?,
        (libc::ENODEV, Step::Mount(_)) => {
            "this kernel has no hugetlbfs (CONFIG_HUGETLBFS)".to_owned()
        }
        (libc::ENOTDIR | libc::EEXIST, Step::MakeDir(_)) => {
            "something else than a directory is in the way: move it and run this again".to_owned()
        }
        _ => return None,
    };
    Some(text)
}

fn invalid(write: &Write) -> Option<String> {
    match write.what {
        What::Overcommit { size } => Some(format!(
            "gigantic pages have no overcommit before Linux 6.19: make the pool itself as large \
             with --pool-pages-min {size}:AMOUNT"
        )),
        What::Pages {
            size,
            gigantic: true,
            ..
        } => Some(format!(
            "this kernel makes no pages of {size} once it runs: reserve them at boot with {}",
            boot(size, 1)
        )),
        What::Pages { .. } | What::Setting => None,
    }
}

/// The kernel parameters for so many pages.
fn boot(size: PageSize, pages: u64) -> String {
    let size = size.to_string();
    format!(
        "hugepagesz={} hugepages={pages}",
        size.trim_end_matches('B')
    )
}
