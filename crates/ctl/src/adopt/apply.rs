//! Collapses the huge pages of a plan.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use hugetools_model::Root;
use hugetools_model::process::Pid;

use super::effects::Effects;
use super::pace::Pace;
use super::plan::{Plan, Step};
use super::reason::Reason;
use super::room;

/// Time between two checks of the free memory.
const CHECK: Duration = Duration::from_millis(100);

/// Huge pages per call at most. Each call waits until every CPU has drained its page
/// batches; the program's page faults get through between two huge pages of a call.
const RUN: usize = 4;

/// The progress in one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Resident bytes processed so far.
    pub done: u64,
    /// All resident bytes to process.
    pub all: u64,
}

/// The result of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Outcome {
    /// Why units were not collapsed, by address.
    pub(super) left: BTreeMap<u64, Reason>,
    /// Bytes for which the kernel reported success, including those huge already.
    pub(super) collapsed: u64,
}

/// The process.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) root: &'a Root,
    pub(super) pid: Pid,
    pub(super) process: BorrowedFd<'a>,
}

/// Carries a plan out.
pub(super) fn apply(
    effects: &mut dyn Effects,
    target: Target<'_>,
    plan: &Plan,
    pace: &mut Pace,
    progress: &mut dyn FnMut(Progress),
) -> Outcome {
    let mut work = Work {
        target,
        outcome: Outcome {
            left: plan.left.clone(),
            collapsed: 0,
        },
        checked: effects.wall(),
        failed_allocations: room::failed_allocations(target.root),
        stop: None,
    };
    let all = plan.steps.iter().map(|step| step.present).sum();
    let mut done = 0;
    let neighbours = plan.steps.chunk_by(|a, b| a.range.end == b.range.start);
    for run in neighbours.flat_map(|steps| steps.chunks(RUN)) {
        work.check_room(effects, run);
        work.collapse(effects, run);
        done += run.iter().map(|step| step.present).sum::<u64>();
        progress(Progress { done, all });
        pace.keep(effects);
    }
    work.outcome
}

struct Work<'w> {
    target: Target<'w>,
    outcome: Outcome,
    /// When the free memory was last checked.
    checked: Duration,
    /// [`room::failed_allocations`] at the beginning.
    failed_allocations: Option<u64>,
    /// Why nothing more is tried.
    stop: Option<Reason>,
}

impl Work<'_> {
    fn check_room(&mut self, effects: &dyn Effects, run: &[Step]) {
        let now = effects.wall();
        if now.saturating_sub(self.checked) < CHECK {
            return;
        }
        self.checked = now;
        let room = room::room(self.target.root, self.target.pid);
        let size: u64 = run.iter().map(Step::size).sum();
        let present: u64 = run.iter().map(|step| step.present).sum();
        if !room.holds(size, size.saturating_sub(present)) {
            self.stop = Some(Reason::NoRoom(room.reason));
        }
    }

    /// Collapses neighbours with one call. If that fails, collapses them one by one to learn
    /// which ones fail; that also repeats a failure that was temporary.
    fn collapse(&mut self, effects: &mut dyn Effects, run: &[Step]) {
        if self.stop.is_none() && self.call(effects, run).is_ok() {
            self.outcome.collapsed += run.iter().map(Step::size).sum::<u64>();
            return;
        }
        for step in run {
            let result = match &self.stop {
                Some(reason) => Err(reason.clone()),
                None => self
                    .call(effects, std::slice::from_ref(step))
                    .map_err(|error| self.reason(&error)),
            };
            match result {
                Ok(()) => self.outcome.collapsed += step.size(),
                Err(reason) => _ = self.outcome.left.insert(step.range.start, reason),
            }
        }
    }

    fn call(&self, effects: &mut dyn Effects, run: &[Step]) -> io::Result<()> {
        let end = run.last().map_or(0, |step| step.range.end);
        let start = run.first().map_or(end, |step| step.range.start);
        effects.collapse(self.target.process, &(start..end))
    }

    fn reason(&mut self, error: &io::Error) -> Reason {
        let reason = match error.raw_os_error().unwrap_or(0) {
            libc::EAGAIN | libc::EBUSY => return Reason::Busy,
            libc::ESRCH => Reason::Changed,
            libc::ENOMEM if self.has_failed_allocation() => Reason::NoHugePage,
            // Nothing is mapped there any more.
            libc::ENOMEM => return Reason::Changed,
            errno => return Reason::Refused(errno),
        };
        self.stop = Some(reason.clone());
        reason
    }

    /// Whether a collapse has found no huge page since the beginning.
    fn has_failed_allocation(&self) -> bool {
        let now = room::failed_allocations(self.target.root);
        self.failed_allocations
            .zip(now)
            .is_some_and(|(before, now)| now > before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::fs::File;
    use std::io::Write;
    use std::ops::Range;
    use std::os::fd::{AsFd, OwnedFd};

    const SIZE: u64 = 2 << 20;

    /// A kernel with prepared results, and clocks that only its calls advance.
    #[derive(Default)]
    struct Simulated {
        /// The errors of the next calls, 0 for success. Later calls succeed.
        errors: VecDeque<i32>,
        /// The first unit and the length of each call.
        calls: Vec<(u64, u64)>,
        cpu: Duration,
        wall: Duration,
    }

    impl Effects for Simulated {
        fn process(&mut self, _: Pid) -> io::Result<OwnedFd> {
            Err(io::Error::from_raw_os_error(libc::ENOSYS))
        }

        fn collapse(&mut self, _: BorrowedFd<'_>, range: &Range<u64>) -> io::Result<()> {
            let len = (range.end - range.start) / SIZE;
            self.calls.push((range.start / SIZE, len));
            let time = Duration::from_millis(4 * len);
            (self.cpu, self.wall) = (self.cpu + time, self.wall + time);
            match self.errors.pop_front() {
                None | Some(0) => Ok(()),
                Some(errno) => Err(io::Error::from_raw_os_error(errno)),
            }
        }

        fn cpu(&self) -> Duration {
            self.cpu
        }

        fn wall(&self) -> Duration {
            self.wall
        }

        fn sleep(&mut self, time: Duration) {
            self.wall += time;
        }
    }

    fn write(path: &std::path::Path, text: &str) {
        let mut file = File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Applies steps at these units, with so much memory available.
    fn run(kernel: &mut Simulated, units: &[u64], percent: u8, available_kib: u64) -> Outcome {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("proc")).unwrap();
        let meminfo = format!("MemTotal: 16000000 kB\nMemAvailable: {available_kib} kB\n");
        write(&dir.path().join("proc/meminfo"), &meminfo);
        let root = Root::at(dir.path()).unwrap();
        let (process, _other) = nix::unistd::pipe().unwrap();
        let target = Target {
            root: &root,
            pid: Pid::new(7).unwrap(),
            process: process.as_fd(),
        };
        let steps = units.iter().map(|unit| Step {
            range: unit * SIZE..(unit + 1) * SIZE,
            present: SIZE,
        });
        let plan = Plan {
            steps: steps.collect(),
            ..Plan::default()
        };
        let mut pace = Pace::new(percent, kernel);
        apply(kernel, target, &plan, &mut pace, &mut |_| {})
    }

    #[test]
    fn the_budget_is_kept() {
        for percent in [5, 25, 100] {
            let mut kernel = Simulated::default();
            let units: Vec<u64> = (0..400).collect();
            let outcome = run(&mut kernel, &units, percent, 9_000_000);
            assert_eq!((outcome.collapsed, outcome.left.len()), (400 * SIZE, 0));
            let share = kernel.cpu.as_secs_f64() * 100.0 / kernel.wall.as_secs_f64();
            assert!(
                (share - f64::from(percent)).abs() < 1.0,
                "{share} {percent}"
            );
        }
    }

    #[test]
    fn neighbours_share_a_call_and_failures_are_told_apart() {
        let errors = [libc::EAGAIN, 0, libc::EINVAL, libc::ENOMEM, libc::EBUSY];
        let mut kernel = Simulated {
            errors: errors.into(),
            ..Simulated::default()
        };
        let outcome = run(&mut kernel, &[0, 1, 2, 3, 4, 7], 50, 9_000_000);
        let calls = [(0, 4), (0, 1), (1, 1), (2, 1), (3, 1), (4, 1), (7, 1)];
        assert_eq!(kernel.calls, calls);
        let left: Vec<_> = outcome.left.into_iter().collect();
        let wanted = [
            (SIZE, Reason::Refused(libc::EINVAL)),
            (2 * SIZE, Reason::Changed),
            (3 * SIZE, Reason::Busy),
        ];
        assert_eq!((left, outcome.collapsed), (wanted.to_vec(), 3 * SIZE));
    }

    #[test]
    fn it_stops_when_the_process_ends_or_memory_is_short() {
        let mut kernel = Simulated {
            errors: [libc::ESRCH, libc::ESRCH].into(),
            ..Simulated::default()
        };
        let outcome = run(&mut kernel, &[0, 2, 4], 50, 9_000_000);
        assert_eq!((kernel.calls.len(), outcome.left.len()), (2, 3));
        let mut kernel = Simulated::default();
        let units: Vec<u64> = (0..100).collect();
        let outcome = run(&mut kernel, &units, 25, 500_000);
        assert!(kernel.calls.len() < 10 && outcome.left.len() > 50);
    }
}
