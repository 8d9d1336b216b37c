//! Samples the program's memory while it runs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use hugetools_contract::report::Peak;
use hugetools_model::process::Pid;
use hugetools_model::{KPath, Root, keyed};

use crate::status::Snapshot;
use crate::sys::clock::{cpu_time, unix_ms};

/// Sampling interval at first, and its maximum.
const PERIOD_MIN: Duration = Duration::from_millis(4);
const PERIOD_MAX: Duration = Duration::from_secs(1);

/// Sampling takes at most 1/SHARE of a CPU.
const SHARE: u32 = 100;

#[derive(Debug)]
pub(super) struct Samples<'r> {
    root: &'r Root,
    /// hugectl's own executable.
    own: PathBuf,
    began: Instant,
    due: Instant,
    /// The last sample, and its time in milliseconds since 1970.
    pub(super) last: Option<(Snapshot, u64)>,
    pub(super) peak: Peak,
    /// Number of programs that had mapped the report page before the last sample.
    pub(super) images: u32,
    /// OOM kills, counted before each of the last two samples. The last sample may have been taken
    /// after the kill of its process.
    oom_kills: [Option<u64>; 2],
}

impl<'r> Samples<'r> {
    pub(super) fn new(root: &'r Root) -> Samples<'r> {
        let now = Instant::now();
        Samples {
            root,
            own: std::env::current_exe().unwrap_or_default(),
            began: now,
            due: now + PERIOD_MIN,
            last: None,
            peak: Peak::default(),
            images: 0,
            oom_kills: [None; 2],
        }
    }

    pub(super) fn timeout(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Takes a sample if it is due. `images` programs have mapped the page by now.
    pub(super) fn take(&mut self, pid: u32, images: u32) {
        if Instant::now() < self.due {
            return;
        }
        let begin = cpu_time();
        let kills = oom_kills(self.root);
        let snapshot = Pid::new(pid).and_then(|pid| Snapshot::take(self.root, pid, None).ok());
        // The child is a copy of hugectl until it executes the program.
        let snapshot = snapshot.filter(|it| !it.runs(&self.own));
        if let Some(snapshot) = snapshot {
            let at = unix_ms();
            self.peak = self.peak.with(&snapshot.peak(at));
            self.last = Some((snapshot, at));
            self.images = images;
            self.oom_kills = [self.oom_kills[1].or(kills), kills];
        }
        let cost = cpu_time().saturating_sub(begin);
        let period = (self.began.elapsed() / 4).clamp(PERIOD_MIN, PERIOD_MAX);
        self.due = Instant::now() + period.max(cost * SHARE);
    }

    /// Whether the OOM killer has killed any process since the second to last sample.
    pub(super) fn has_run_out_of_memory(&self) -> bool {
        let before = self.oom_kills[0].zip(oom_kills(self.root));
        before.is_some_and(|(before, now)| now > before)
    }
}

/// Returns the number of OOM kills (Linux 4.13).
fn oom_kills(root: &Root) -> Option<u64> {
    let text = root.read(&KPath::from("/proc/vmstat")).ok()?;
    keyed::number(&text, b"oom_kill ")
}
