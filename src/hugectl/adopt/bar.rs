//! Progress on standard error: a bar on a terminal, otherwise occasional lines.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use hugetools_ctl::adopt::Progress;
use hugetools_model::process::Pid;

use crate::console;

/// Time between two updates of the bar.
const BAR_PERIOD: Duration = Duration::from_millis(100);
/// Time between two lines.
const LINE_PERIOD: Duration = Duration::from_secs(5);
/// Width of the bar in columns.
const WIDTH: u64 = 30;

/// The progress of one process.
pub(super) struct Bar {
    pid: Pid,
    is_quiet: bool,
    is_drawn: bool,
    last: Instant,
    /// Whether the bar is on the screen.
    is_on_screen: bool,
}

impl Bar {
    /// Returns the progress of a process at its start.
    pub(super) fn new(pid: Pid, is_quiet: bool) -> Bar {
        Bar {
            pid,
            is_quiet,
            is_drawn: io::stderr().is_terminal(),
            last: Instant::now(),
            is_on_screen: false,
        }
    }

    /// Prints the progress, if the last update is old enough.
    pub(super) fn show(&mut self, progress: Progress) {
        let time = if self.is_drawn {
            BAR_PERIOD
        } else {
            LINE_PERIOD
        };
        if self.is_quiet || self.last.elapsed() < time {
            return;
        }
        self.last = Instant::now();
        match self.is_drawn {
            true => console::err(&format!("\r{}", self.bar(progress))),
            false => console::err(&format!("hugectl: {}\n", self.line(progress))),
        }
        self.is_on_screen = self.is_drawn;
    }

    fn line(&self, Progress { done, all }: Progress) -> String {
        let (pid, percent) = (self.pid, scale(done, all, 100));
        format!("process {pid}: {percent}% of {} MB scanned", all >> 20)
    }

    fn bar(&self, Progress { done, all }: Progress) -> String {
        let filled = scale(done, all, WIDTH);
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
        if self.is_on_screen {
            console::err("\r\x1b[K");
        }
    }
}

/// Scales `done` of `all` to `parts`.
fn scale(done: u64, all: u64, parts: u64) -> u64 {
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
        assert_eq!(bar.line(half), "process 7: 50% of 800 MB scanned");
        assert_eq!((scale(0, 0, 30), scale(9, 3, 30)), (0, 30));
    }
}
