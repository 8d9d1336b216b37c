//! Collapses the huge pages of a plan.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::time::{Duration, Instant};

use hugetools_model::Root;
use hugetools_model::process::Pid;

use super::pace::Pace;
use super::plan::{Plan, Step};
use super::reason::Reason;
use super::room;

/// Minimum interval between checks of the free memory.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Maximum number of huge pages per call. Each call costs one `lru_add_drain_all()`, whatever its
/// length. Longer calls block no page fault longer: the kernel unlocks between two huge pages.
const MAX_PAGES_PER_CALL: usize = 4;

/// The progress in one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Resident bytes processed so far.
    pub done: u64,
    /// All resident bytes to process.
    pub all: u64,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Outcome {
    /// Why units were not collapsed, by address.
    pub(super) left: BTreeMap<u64, Reason>,
    /// Bytes for which the kernel reported success, including memory that was huge before.
    pub(super) collapsed: u64,
}

/// Executes a plan; `collapse` collapses an address range of the process.
pub(super) fn apply(
    root: &Root,
    pid: Pid,
    plan: &Plan,
    pace: &mut Pace,
    collapse: &mut Collapse<'_>,
    progress: &mut dyn FnMut(Progress),
) -> Outcome {
    let mut work = Work {
        root,
        pid,
        collapse,
        outcome: Outcome::default(),
        checked: None,
        failed_allocations: room::failed_allocations(root),
        stop: None,
    };
    let all = plan.steps.iter().map(|step| step.present).sum();
    let mut done = 0;
    let neighbours = plan.steps.chunk_by(|a, b| a.range.end == b.range.start);
    for run in neighbours.flat_map(|steps| steps.chunks(MAX_PAGES_PER_CALL)) {
        work.check_room(run);
        work.collapse(run);
        done += run.iter().map(|step| step.present).sum::<u64>();
        progress(Progress { done, all });
        pace.keep();
    }
    work.outcome
}

pub(super) type Collapse<'c> = dyn FnMut(&Range<u64>) -> io::Result<()> + 'c;

struct Work<'w, 'c> {
    root: &'w Root,
    pid: Pid,
    collapse: &'w mut Collapse<'c>,
    outcome: Outcome,
    /// Time of the last check of the free memory.
    checked: Option<Instant>,
    /// [`room::failed_allocations`] before the first step.
    failed_allocations: Option<u64>,
    /// Why all further steps are skipped.
    stop: Option<Reason>,
}

impl Work<'_, '_> {
    fn check_room(&mut self, run: &[Step]) {
        if self
            .checked
            .is_some_and(|time| time.elapsed() < CHECK_INTERVAL)
        {
            return;
        }
        self.checked = Some(Instant::now());
        let room = room::room(self.root, self.pid);
        let size: u64 = run.iter().map(Step::size).sum();
        let present: u64 = run.iter().map(|step| step.present).sum();
        if !room.holds(size, size.saturating_sub(present)) {
            self.stop = Some(Reason::NoRoom(room.reason));
        }
    }

    /// Collapses neighbours with one call. If that fails, collapses each alone, to find the ones
    /// that fail and to retry temporary failures.
    fn collapse(&mut self, run: &[Step]) {
        if self.stop.is_none() && self.call(run).is_ok() {
            self.outcome.collapsed += run.iter().map(Step::size).sum::<u64>();
            return;
        }
        for step in run {
            let result = match &self.stop {
                Some(reason) => Err(reason.clone()),
                None => self
                    .call(std::slice::from_ref(step))
                    .map_err(|error| self.reason(&error)),
            };
            match result {
                Ok(()) => self.outcome.collapsed += step.size(),
                Err(reason) => _ = self.outcome.left.insert(step.range.start, reason),
            }
        }
    }

    fn call(&mut self, run: &[Step]) -> io::Result<()> {
        let end = run.last().map_or(0, |step| step.range.end);
        let start = run.first().map_or(end, |step| step.range.start);
        (self.collapse)(&(start..end))
    }

    fn reason(&mut self, error: &io::Error) -> Reason {
        let reason = match error.raw_os_error().unwrap_or(0) {
            libc::EAGAIN => return Reason::Busy,
            libc::EBUSY => return Reason::NoRoom("the memory control group is full".into()),
            libc::ESRCH => Reason::Changed,
            libc::ENOMEM if self.has_failed_allocation() => Reason::NoHugePage,
            // The range was unmapped.
            libc::ENOMEM => return Reason::Changed,
            errno => return Reason::Refused(errno),
        };
        self.stop = Some(reason.clone());
        reason
    }

    /// Whether a collapse, of any process, has failed to allocate a huge page since the first step.
    fn has_failed_allocation(&self) -> bool {
        let now = room::failed_allocations(self.root);
        self.failed_allocations
            .zip(now)
            .is_some_and(|(before, now)| now > before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::kernel::tests::tree;
    use std::collections::VecDeque;

    const SIZE: u64 = 2 << 20;

    /// Applies a plan for `units`. Calls return `errors` in turn (0: success), then succeed.
    /// Returns the first unit and the length of each call, too.
    fn run(units: &[u64], errors: &[i32], available_kib: u64) -> (Outcome, Vec<(u64, u64)>) {
        let meminfo = format!("MemTotal: 16000000 kB\nMemAvailable: {available_kib} kB\n");
        let (_dir, root) = tree(&[("proc/meminfo", &meminfo)]);
        let steps = units.iter().map(|unit| Step {
            range: unit * SIZE..(unit + 1) * SIZE,
            present: SIZE,
        });
        let plan = Plan {
            steps: steps.collect(),
            ..Plan::default()
        };
        let mut errors: VecDeque<i32> = errors.iter().copied().collect();
        let mut calls = Vec::new();
        let mut collapse = |range: &Range<u64>| {
            calls.push((range.start / SIZE, (range.end - range.start) / SIZE));
            match errors.pop_front() {
                None | Some(0) => Ok(()),
                Some(errno) => Err(io::Error::from_raw_os_error(errno)),
            }
        };
        let pid = Pid::new(7).unwrap();
        let mut pace = Pace::new(100);
        let outcome = apply(&root, pid, &plan, &mut pace, &mut collapse, &mut |_| {});
        (outcome, calls)
    }

    #[test]
    fn neighbours_share_a_call_and_failures_are_told_apart() {
        let errors = [libc::EAGAIN, 0, libc::EINVAL, libc::ENOMEM, libc::EBUSY];
        let (outcome, calls) = run(&[0, 1, 2, 3, 4, 7], &errors, 9_000_000);
        let wanted = [(0, 4), (0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (7, 1)];
        assert_eq!(calls, wanted);
        let left: Vec<_> = outcome.left.into_iter().collect();
        let wanted = [
            (SIZE, Reason::Refused(libc::EINVAL)),
            (2 * SIZE, Reason::Changed),
            (
                3 * SIZE,
                Reason::NoRoom("the memory control group is full".into()),
            ),
        ];
        assert_eq!((left, outcome.collapsed), (wanted.to_vec(), 3 * SIZE));
    }

    #[test]
    fn it_stops_if_the_process_ends_or_memory_is_short() {
        let (outcome, calls) = run(&[0, 2, 4], &[libc::ESRCH; 2], 9_000_000);
        assert_eq!((calls.len(), outcome.left.len()), (2, 3));
        let (outcome, calls) = run(&[0, 2, 4], &[], 500_000);
        assert_eq!((calls.len(), outcome.left.len()), (0, 3));
    }
}
