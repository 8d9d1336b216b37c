//! Looks at the program while it runs.

use std::time::{Duration, Instant};

use hugetools_contract::report::Peak;
use hugetools_model::process::Pid;
use hugetools_model::{KPath, Root, keyed};

use crate::status::Snapshot;
use crate::sys::clock::{own_time, wall_clock};

/// The shortest and the longest time between two looks.
const OFTEN: Duration = Duration::from_millis(4);
const SELDOM: Duration = Duration::from_secs(1);

/// Looks take at most one part in so many of the time.
const SHARE: u32 = 100;

/// What was seen of the program so far.
#[derive(Debug)]
pub(super) struct Looks<'r> {
    root: &'r Root,
    since: Instant,
    due: Instant,
    /// The last look, and when it was, in milliseconds since 1970.
    pub(super) last: Option<(Snapshot, u64)>,
    pub(super) peak: Peak,
    /// How many programs had mapped the page before the last look.
    pub(super) images: u32,
    /// The kernel's count of kills for want of memory, at the last look but one and at the
    /// last: that one may have been at a process already killed.
    kills: [Option<u64>; 2],
}

impl<'r> Looks<'r> {
    pub(super) fn new(root: &'r Root) -> Looks<'r> {
        let now = Instant::now();
        Looks {
            root,
            since: now,
            due: now + OFTEN,
            last: None,
            peak: Peak::default(),
            images: 0,
            kills: [None; 2],
        }
    }

    /// The time until the next one.
    pub(super) fn patience(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Looks, if it is time. So many programs have mapped the page by now.
    pub(super) fn look(&mut self, pid: u32, images: u32) {
        if Instant::now() < self.due {
            return;
        }
        let begin = own_time();
        let kills = kills(self.root);
        let snapshot = Pid::new(pid).and_then(|pid| Snapshot::take(self.root, pid).ok());
        if let Some(snapshot) = snapshot.filter(|snapshot| !snapshot.is_being_loaded()) {
            let at = wall_clock();
            self.peak = self.peak.with(&snapshot.peak(at));
            self.last = Some((snapshot, at));
            self.images = images;
            self.kills = [self.kills[1].or(kills), kills];
        }
        let cost = own_time().saturating_sub(begin);
        let wait = (self.since.elapsed() / 4).clamp(OFTEN, SELDOM);
        self.due = Instant::now() + wait.max(cost * SHARE);
    }

    /// Whether the kernel has killed a process for want of memory since the last looks.
    pub(super) fn has_run_out_of_memory(&self) -> bool {
        let before = self.kills[0].zip(kills(self.root));
        before.is_some_and(|(before, now)| now > before)
    }
}

/// How many processes the kernel has killed for want of memory, since Linux 4.13.
fn kills(root: &Root) -> Option<u64> {
    let text = root.read(&KPath::from("/proc/vmstat")).ok()?;
    keyed::number(&text, b"oom_kill ")
}
