//! How far it is, on standard error: a bar on a terminal, elsewhere a line now and then.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use hugetools_ctl::adopt::Progress;
use hugetools_model::process::Pid;

use crate::console;

/// The time between two drawings of a bar.
const DRAWN: Duration = Duration::from_millis(100);
/// The time between two lines.
const WRITTEN: Duration = Duration::from_secs(5);
/// The width of a bar.
const WIDTH: u64 = 30;

/// How far one process is.
pub(super) struct Bar {
    pid: Pid,
    is_quiet: bool,
    is_drawn: bool,
    last: Instant,
    /// Whether something stands on the terminal's line.
    is_there: bool,
}

impl Bar {
    /// Of a process that has just been begun with.
    pub(super) fn new(pid: Pid, is_quiet: bool) -> Bar {
        Bar {
            pid,
            is_quiet,
            is_drawn: io::stderr().is_terminal(),
            last: Instant::now(),
            is_there: false,
        }
    }

    /// Shows how far it is, if it is time.
    pub(super) fn show(&mut self, progress: Progress) {
        let time = if self.is_drawn { DRAWN } else { WRITTEN };
        if self.is_quiet || self.last.elapsed() < time {
            return;
        }
        self.last = Instant::now();
        match self.is_drawn {
            true => console::err(&format!("\r{}", self.bar(progress))),
            false => console::err(&format!("hugectl: {}\n", self.line(progress))),
        }
        self.is_there = self.is_drawn;
    }

    fn line(&self, Progress { done, all }: Progress) -> String {
        let (pid, percent) = (self.pid, share(done, all, 100));
        format!("process {pid}: {percent}% of {} MB gone through", all >> 20)
    }

    fn bar(&self, Progress { done, all }: Progress) -> String {
        let filled = share(done, all, WIDTH);
        let (full, empty) = (
            "#".repeat(usize::try_from(filled).unwrap_or(0)),
            "-".repeat(usize::try_from(WIDTH - filled).unwrap_or(0)),
        );
        format!(
            "process {}: [{full}{empty}] {} of {} MB",
            self.pid,
            done >> 20,
            all >> 20
        )
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if self.is_there {
            console::err("\r\x1b[K");
        }
    }
}

/// How many of `parts`.
fn share(done: u64, all: u64, parts: u64) -> u64 {
    let share = u128::from(done.min(all)) * u128::from(parts) / u128::from(all.max(1));
    u64::try_from(share).unwrap_or(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_and_a_line() {
        let bar = Bar::new(Pid::new(7).unwrap(), true);
        let half = Progress {
            done: 400 << 20,
            all: 800 << 20,
        };
        let drawn = bar.bar(half);
        let wanted = "process 7: [###############---------------] 400 of 800 MB";
        assert_eq!(drawn, wanted);
        assert_eq!(bar.line(half), "process 7: 50% of 800 MB gone through");
        assert_eq!((share(0, 0, 30), share(9, 3, 30)), (0, 30));
    }
}
