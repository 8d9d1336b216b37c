//! How a process has ended.

use std::os::fd::OwnedFd;
use std::time::Duration;

use hugetools_contract::report::Ended;
use hugetools_model::{KPath, Root, keyed};

use super::look::Stat;
use crate::sys::aside;

/// Finds out how a process has ended: from `/proc` until its parent has waited for
/// it, afterwards from the kernel, since Linux 6.15. Between the two there is a
/// moment in which nobody knows. `before` is what [`count`] was
/// when it had not ended for sure.
pub(super) fn find(root: &Root, pid: u32, process: Option<&OwnedFd>, before: Option<u64>) -> Ended {
    for _ in 0..20 {
        let waits = || Stat::read(root, pid).and_then(|stat| stat.status);
        let status = waits().or_else(|| process.and_then(aside::status));
        if let Some(status) = status {
            return of_status(status, || has_grown(before, count(root)));
        }
        if process.is_none() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ended::Unknown
}

fn of_status(status: i32, out_of_memory: impl FnOnce() -> bool) -> Ended {
    match status & 0x7f {
        0 => Ended::Exit(Some(status >> 8 & 0xff)),
        number => Ended::Signal {
            number,
            out_of_memory: number == libc::SIGKILL && out_of_memory(),
        },
    }
}

/// How many processes the kernel has ended for want of memory, since Linux 4.13; `None`
/// where it does not tell.
pub(super) fn count(root: &Root) -> Option<u64> {
    let text = root.read(&KPath::from("/proc/vmstat")).ok()?;
    keyed::number(&text, b"oom_kill ")
}

/// Whether one has ended so between two such counts, as far as both are known.
fn has_grown(before: Option<u64>, now: Option<u64>) -> bool {
    now.zip(before).is_some_and(|(now, before)| now > before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_counts_are_compared_where_both_are_known() {
        assert!(has_grown(Some(3), Some(4)));
        assert!(!has_grown(Some(4), Some(4)));
        assert!(!has_grown(None, Some(4)));
        assert!(!has_grown(Some(4), None));
    }

    #[test]
    fn statuses() {
        let of = |status, out_of_memory| of_status(status, || out_of_memory);
        assert_eq!(of(0, false), Ended::Exit(Some(0)));
        assert_eq!(of(0x300, true), Ended::Exit(Some(3)));
        let signal = |number, out_of_memory| Ended::Signal {
            number,
            out_of_memory,
        };
        assert_eq!(of(15, true), signal(15, false));
        // With a core dumped.
        assert_eq!(of(0x8b, false), signal(11, false));
        assert_eq!(of(9, true), signal(9, true));
    }
}
