//! One huge page after the other, at the pace that was asked for.

mod run;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use super::guard::{Gone, Guard};
use super::pace::Pace;
use super::plan::{Plan, Step};
use super::reason::Reason;
use crate::adopt::effects::Adopts;
use run::Run;

/// The time after which somebody looks whether all is as it was.
const LOOK: Duration = Duration::from_millis(100);
/// The time between looks at how much memory there is.
const LOOK_AT_ROOM: Duration = Duration::from_secs(1);
/// So long the kernel may have to move memory without a pause. It finds the huge pages all
/// the same, where free memory is in pieces, and others may be the reason.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many huge pages in a row that could not be had are an end.
const MOST_LACKING: u32 = 3;
/// What was busy is tried again after so long.
const AGAIN: Duration = Duration::from_millis(50);

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Bytes that have been gone through.
    pub done: u64,
    /// Bytes in all.
    pub all: u64,
}

/// What became of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Outcome {
    /// Why huge pages were not put together, by their first address.
    pub(super) left: BTreeMap<u64, Reason>,
    /// Bytes of the huge pages that the kernel has put together.
    pub(super) done: u64,
    /// The process is no more what it was.
    pub(super) gone: Option<Gone>,
}

impl Outcome {
    /// Adds what became of the next plan.
    pub(super) fn add(&mut self, next: Outcome) {
        self.left.extend(next.left);
        self.done += next.done;
        self.gone = self.gone.or(next.gone);
    }
}

/// What comes of one step.
enum Came {
    Done,
    /// Others may do better.
    Left(Reason),
    /// It may do better later.
    Busy,
    /// There was no huge page.
    Lacking,
    /// The process has ended.
    Ended,
}

/// Carries a plan out.
pub(super) fn apply(
    effects: &mut dyn Adopts,
    guard: &mut Guard<'_>,
    plan: &Plan,
    pace: &mut Pace,
    progress: &mut dyn FnMut(Progress),
) -> Outcome {
    let mut work = Work {
        guard,
        pace,
        outcome: Outcome::default(),
        looked: effects.wall(),
        looked_at_room: effects.wall(),
        lacking: 0,
        stalled: None,
        stop: None,
    };
    let all = plan.bytes();
    let mut done = 0;
    let mut busy = Vec::new();
    let mut run = Run::new();
    let mut rest = plan.steps.as_slice();
    while let [step, later @ ..] = rest {
        if work.is_over(effects, step) {
            rest = later;
            continue;
        }
        let steps = run.next(rest, work.pace.is_slowed());
        if steps.len() == 1 {
            if !work.take(effects, step, &mut run) {
                busy.push(step);
            }
        } else if !work.take_all(effects, steps, &mut run) {
            run.has_failed(steps);
            continue;
        }
        rest = &rest[steps.len()..];
        done += steps.iter().map(|step| step.bytes).sum::<u64>();
        progress(Progress { done, all });
    }
    if !busy.is_empty() && work.outcome.gone.is_none() {
        effects.rest(AGAIN);
    }
    for step in busy {
        if !work.is_over(effects, step) && !work.take(effects, step, &mut run) {
            work.outcome.left.insert(step.range.start, Reason::Busy);
        }
    }
    work.outcome
}

/// What is under way.
struct Work<'w, 'r> {
    guard: &'w mut Guard<'r>,
    pace: &'w mut Pace,
    outcome: Outcome,
    looked: Duration,
    looked_at_room: Duration,
    /// Huge pages in a row that could not be had.
    lacking: u32,
    /// Since when the kernel has had to move memory at each look, however slowly it went.
    stalled: Option<Duration>,
    /// Why nothing more is tried.
    stop: Option<Reason>,
}

impl Work<'_, '_> {
    /// Whether nothing more is tried; then this is left.
    fn is_over(&mut self, effects: &dyn Adopts, step: &Step) -> bool {
        let now = effects.wall();
        if self.outcome.gone.is_none() && now.saturating_sub(self.looked) >= LOOK {
            self.looked = now;
            self.outcome.gone = self.guard.gone();
            let trouble = self.guard.has_stalled();
            self.pace.adapt(trouble);
            self.stalled = match trouble && self.pace.is_slowest() {
                true => self.stalled.or(Some(now)),
                false => None,
            };
            if self
                .stalled
                .is_some_and(|since| now.saturating_sub(since) >= PATIENCE)
            {
                self.stop = Some(Reason::Stalled);
            }
        }
        if now.saturating_sub(self.looked_at_room) >= LOOK_AT_ROOM {
            self.looked_at_room = now;
            let room = self.guard.room();
            if !room.holds(step.size(), step.size().saturating_sub(step.bytes)) {
                self.stop = Some(room.reason);
            }
        }
        if let Some(reason) = &self.stop {
            self.outcome.left.insert(step.range.start, reason.clone());
        }
        self.stop.is_some() || self.outcome.gone.is_some()
    }

    /// Tries some that follow each other; false where not each of them became huge.
    fn take_all(&mut self, effects: &mut dyn Adopts, steps: &[Step], run: &mut Run) -> bool {
        let done = self.ask(effects, steps, run).is_ok();
        if done {
            self.outcome.done += steps.iter().map(Step::size).sum::<u64>();
            self.lacking = 0;
        }
        self.pace.keep(effects);
        done
    }

    /// Tries one; false where it is to be tried again.
    fn take(&mut self, effects: &mut dyn Adopts, step: &Step, run: &mut Run) -> bool {
        let came = self.ask(effects, std::slice::from_ref(step), run);
        let came = self.came(came);
        let is_busy = matches!(came, Came::Busy);
        self.lacking = match came {
            Came::Lacking => self.lacking + 1,
            _ => 0,
        };
        match came {
            Came::Done => self.outcome.done += step.size(),
            Came::Left(reason) => _ = self.outcome.left.insert(step.range.start, reason),
            Came::Lacking => {
                let reason = Reason::NoHugePage;
                self.outcome.left.insert(step.range.start, reason.clone());
                if self.lacking >= MOST_LACKING {
                    self.stop = Some(reason);
                }
            }
            Came::Ended => self.outcome.gone = Some(Gone::Ended),
            Came::Busy => {}
        }
        self.pace.keep(effects);
        !is_busy
    }

    /// Asks for steps that follow each other.
    fn ask(&self, effects: &mut dyn Adopts, steps: &[Step], run: &mut Run) -> io::Result<()> {
        let before = effects.cpu();
        let end = steps.last().map_or(0, |step| step.range.end);
        let start = steps.first().map_or(end, |step| step.range.start);
        let came = effects.collapse(self.guard.process().as_fd(), &(start..end));
        run.took(steps.len(), effects.cpu().saturating_sub(before));
        came
    }

    fn came(&self, result: io::Result<()>) -> Came {
        let Err(error) = result else {
            return Came::Done;
        };
        match error.raw_os_error().unwrap_or(0) {
            libc::ESRCH => Came::Ended,
            libc::EAGAIN | libc::EBUSY => Came::Busy,
            libc::ENOMEM if self.guard.lacked_huge_page() => Came::Lacking,
            // Nothing is mapped there any more.
            libc::ENOMEM => Came::Left(Reason::Later),
            errno => Came::Left(Reason::Refused(errno)),
        }
    }
}

#[cfg(test)]
mod tests;
