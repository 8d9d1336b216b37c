//! Runs a plan, or only predicts the result. All decisions are in the plan: each step
//! reads the present value, changes it if it differs, and reads it back.
//!
//! **Invariants.** A failed step ends its own task, no other. A killed run leaves a
//! note for the next run about everything unfinished.

mod files;
mod numbers;
mod pools;
mod swap;

use std::path::PathBuf;

use hugetools_model::hugetlb::pool;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::root::error::{Cause, Op};
use hugetools_model::{FileError, PageCount, PageSize, Root};

use crate::effects::Effects;
use crate::plan::{Maximum, Plan, Task, When, shell};
use crate::report::hint::hint;
use crate::report::{Failure, NotRun, Outcome, StepReport, TaskReport};
use crate::step::unfinished::Unfinished;
use crate::step::{Impossible, Step, Value, What, Write};

/// Runs all tasks, even after one fails.
pub fn apply(plan: &Plan, root: &Root, effects: &mut dyn Effects) -> Vec<TaskReport> {
    let mut run = Run {
        root,
        effects,
        unfinished: plan.unfinished.clone(),
        made: Vec::new(),
    };
    let reports = plan.tasks.iter().map(|task| run.task(task)).collect();
    run.remember();
    reports
}

/// Reports a plan without running it. Steps that are known to fail are reported as
/// failed.
pub fn rehearse(plan: &Plan, root: &Root) -> Vec<TaskReport> {
    let step = |step: &Step| {
        let failure = foreseen(step, root);
        let outcome = failure.map_or(Outcome::Planned, Outcome::Failed);
        report(step, outcome, root, false)
    };
    let task = |task: &Task| TaskReport {
        option: task.option.clone(),
        steps: task.steps.iter().map(step).collect(),
    };
    plan.tasks.iter().map(task).collect()
}

/// A plan in progress.
struct Run<'a> {
    root: &'a Root,
    effects: &'a mut dyn Effects,
    /// The note for the next run, in case this one is killed.
    unfinished: Unfinished,
    /// Directories created by the present task.
    made: Vec<PathBuf>,
}

impl Run<'_> {
    fn task(&mut self, task: &Task) -> TaskReport {
        let noted = &self.unfinished.maximums;
        let kept = matches!(task.maximum, Maximum::Unsettled(size) if noted.contains_key(&size));
        let maximum = match task.maximum {
            Maximum::Unsettled(size) => self.note_maximum(size),
            Maximum::Untouched | Maximum::Restored(_) => None,
        };
        let mut failed = false;
        let mut steps = Vec::new();
        for step in &task.steps {
            let interrupted = task.when == When::UnlessInterrupted && self.effects.interrupted();
            let outcome = match failed {
                true => self.after_failure(step, maximum),
                false if interrupted && !sets_final_maximum(step) => not_run(NotRun::Interrupted),
                false => self.step(step),
            };
            failed |= matches!(outcome, Outcome::Failed(_));
            steps.push(report(step, outcome, self.root, self.effects.is_root()));
        }
        if failed {
            self.take_back_dirs(&mut steps);
        }
        self.made.clear();
        match task.maximum {
            Maximum::Unsettled(size) if !kept => self.clear_maximum(size),
            Maximum::Restored(size) if !failed => self.clear_maximum(size),
            Maximum::Untouched | Maximum::Unsettled(_) | Maximum::Restored(_) => {}
        }
        TaskReport {
            option: task.option.clone(),
            steps,
        }
    }

    fn step(&mut self, step: &Step) -> Outcome {
        if let Some(failure) = foreseen(step, self.root) {
            return Outcome::Failed(failure);
        }
        let outcome = match step {
            Step::Write(write) => self.write(write),
            Step::Choose(choose) => numbers::choose(choose, self.root),
            Step::Demote(demote) => numbers::demote(demote, self.root),
            Step::MakeDir(dir) => files::make_dir(dir, self.effects, &mut self.made),
            Step::RemoveDir(path) => files::remove_dir(path, self.effects),
            Step::Mount(mount) => files::mount(mount, self.root, self.effects),
            Step::Own(own) => files::own(own, self.root, self.effects),
            Step::Unmount(point) => files::unmount(point, self.root, self.effects),
            Step::SwapOn(swap) => self.swap_on(swap),
            Step::SwapOff(swap) => self.swap_off(swap),
            Step::Impossible(not) => Err(impossible(not)),
        };
        outcome.unwrap_or_else(Outcome::Failed)
    }

    /// Removes the directories that a failed task created, unless they are in use
    /// by now.
    fn take_back_dirs(&mut self, steps: &mut [StepReport]) {
        for path in std::mem::take(&mut self.made).into_iter().rev() {
            if self.effects.remove_dir(&path).is_err() {
                continue;
            }
            let is_it = |step: &&mut StepReport| {
                step.action == "make_dir" && step.path == path.display().to_string()
            };
            if let Some(step) = steps.iter_mut().find(is_it) {
                step.outcome = not_run(NotRun::TakenBack);
            }
        }
    }

    /// Notes the maximum of a pool before writes that change it temporarily.
    fn note_maximum(&mut self, size: PageSize) -> Option<PageCount> {
        // Keep the note of an earlier run that could not restore the maximum.
        if let Some(maximum) = self.unfinished.maximums.get(&size) {
            return Some(*maximum);
        }
        let maximum = maximum(size, self.root)?;
        self.unfinished.maximums.insert(size, maximum);
        self.remember();
        Some(maximum)
    }

    fn clear_maximum(&mut self, size: PageSize) {
        if self.unfinished.maximums.remove(&size).is_some() {
            self.remember();
        }
    }

    /// Skips a step after a failure in its task, except the last write of a pool's
    /// change: this restores the old maximum.
    fn after_failure(&mut self, step: &Step, maximum: Option<PageCount>) -> Outcome {
        let put_back = match (step, maximum) {
            (Step::Write(write), Some(maximum)) if sets_final_maximum(step) => {
                self.put_back(write, maximum)
            }
            _ => None,
        };
        match put_back {
            Some(step) => self.step(&step),
            None => not_run(NotRun::EarlierFailed),
        }
    }

    fn put_back(&self, write: &Write, maximum: PageCount) -> Option<Step> {
        let What::Overcommit { size, .. } = write.what else {
            return None;
        };
        let minimum = find_pool(size, self.root)?.minimum();
        Some(Step::Write(Write {
            value: Value::Plain(maximum.saturating_sub(minimum).get()),
            ..write.clone()
        }))
    }

    /// Writes the note. The run continues if that fails.
    fn remember(&mut self) {
        let _ = self.effects.remember(&self.unfinished);
    }
}

/// Whether a step restores a pool's maximum after its minimum changed.
fn sets_final_maximum(step: &Step) -> bool {
    matches!(
        step,
        Step::Write(Write {
            what: What::Overcommit { .. },
            value: Value::Rest { .. },
            ..
        })
    )
}

fn find_pool(size: PageSize, root: &Root) -> Option<pool::Pool> {
    let meminfo = Meminfo::read(root).ok()?;
    let pools = pool::read(root, &meminfo).ok()?;
    pools.into_iter().find(|pool| pool.size == size)
}

fn maximum(size: PageSize, root: &Root) -> Option<PageCount> {
    find_pool(size, root).map(|pool| pool.maximum())
}

fn not_run(why: NotRun) -> Outcome {
    Outcome::NotRun { why }
}

fn report(step: &Step, outcome: Outcome, root: &Root, is_root: bool) -> StepReport {
    let (action, path) = step.subject();
    StepReport {
        action,
        path,
        shell: shell::line(step, root),
        hint: hint(step, &outcome, is_root, root),
        outcome,
    }
}

/// Predicts a failure without trying the step. Values that the kernel is known to
/// refuse are only checked on a recorded tree: the live kernel decides itself.
fn foreseen(step: &Step, root: &Root) -> Option<Failure> {
    match step {
        Step::Impossible(not) => Some(impossible(not)),
        Step::Write(write) if write.refused.is_some() && !root.has_kernel() => {
            let asked = numbers::value(write, root);
            Some(asked.map_or_else(Failure::from, |asked| refused(write, asked)))
        }
        _ => None,
    }
}

fn impossible(not: &Impossible) -> Failure {
    Failure {
        written: None,
        errno: None,
        error: format!("{}: {}", not.subject, not.why),
    }
}

fn refused(write: &Write, asked: u64) -> Failure {
    FileError {
        op: Op::Write,
        path: write.file.path.clone(),
        value: Some(asked.to_string()),
        cause: Cause::Errno(libc::EINVAL),
    }
    .into()
}
