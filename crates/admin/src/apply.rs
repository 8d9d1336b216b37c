//! Runs a plan, or only reports it. All decisions are in the plan: each step reads the current
//! value, changes it if it differs, and reads it back.
//!
//! **Invariants.** A failed step skips steps of its own task only.

mod files;
pub(crate) mod numbers;
mod pools;

use std::path::PathBuf;

use hugetools_model::Root;

use crate::effects::Effects;
use crate::plan::{Plan, Task, shell};
use crate::report::hint::hint;
use crate::report::{Failure, NotRun, Outcome, StepReport, TaskReport};
use crate::step::{Impossible, NumberKind, Step, Value, Write};

/// Runs all tasks, even after one fails.
pub fn apply(plan: &Plan, root: &Root, effects: &mut dyn Effects) -> Vec<TaskReport> {
    let mut run = Run {
        root,
        effects,
        made: Vec::new(),
    };
    plan.tasks.iter().map(|task| run.task(task)).collect()
}

/// Reports a plan without running it.
pub fn rehearse(plan: &Plan, root: &Root) -> Vec<TaskReport> {
    let step = |step: &Step| {
        let outcome = match step {
            Step::Impossible(not) => Outcome::Failed(impossible(not)),
            _ => Outcome::Planned,
        };
        report(step, outcome, root, false)
    };
    let task = |task: &Task| TaskReport {
        option: task.option.clone(),
        steps: task.steps.iter().map(step).collect(),
        optional: task.optional,
    };
    plan.tasks.iter().map(task).collect()
}

/// A plan in progress.
struct Run<'a> {
    root: &'a Root,
    effects: &'a mut dyn Effects,
    /// Directories created by the current task.
    made: Vec<PathBuf>,
}

impl Run<'_> {
    /// Runs a task until a step fails or, unless the task cleans up, a signal arrives. Even then,
    /// the write that restores a pool's maximum runs if an earlier step changed anything.
    fn task(&mut self, task: &Task) -> TaskReport {
        let (mut failed, mut changed) = (false, false);
        let mut steps = Vec::new();
        for step in &task.steps {
            let interrupted = !task.always && self.effects.interrupted();
            let outcome = match (failed, interrupted) {
                (false, false) if !changed && matches!(step, Step::Run(_)) => {
                    Outcome::Unchanged { value: None }
                }
                (false, false) if step.is_skipped_on(self.root) => not_run(NotRun::RecordedTree),
                (false, false) => self.step(step),
                _ if changed && sets_final_maximum(step) => self.step(step),
                (true, _) => not_run(NotRun::EarlierFailed),
                (false, true) => not_run(NotRun::Interrupted),
            };
            failed |= matches!(outcome, Outcome::Failed(_));
            changed |= matches!(outcome, Outcome::Changed { .. } | Outcome::Short { .. });
            steps.push(report(step, outcome, self.root, self.effects.is_root()));
        }
        if failed {
            self.remove_made_dirs(&mut steps);
        }
        self.made.clear();
        TaskReport {
            option: task.option.clone(),
            steps,
            optional: task.optional,
        }
    }

    fn step(&mut self, step: &Step) -> Outcome {
        let outcome = match step {
            Step::Write(write) => self.write(write),
            Step::SelectWord(select) => numbers::select_word(select, self.root),
            Step::MakeDir(dir) => files::make_dir(dir, self.root, self.effects, &mut self.made),
            Step::RemoveDir(path) => files::remove_dir(path, self.effects),
            Step::Mount(mount) => files::mount(mount, self.root, self.effects),
            Step::SetOwner(own) => files::set_owner(own, self.effects),
            Step::Unmount(point) => files::unmount(point, self.root, self.effects),
            Step::SwapOn(swap) => files::swap_on(swap, self.effects),
            Step::SwapOff(swap) => files::swap_off(swap, self.effects),
            Step::Install(install) => files::install(install, self.effects),
            Step::RemoveFile(path) => files::remove_file(path, self.effects),
            Step::Run(words) => files::run(words, self.effects),
            Step::Impossible(not) => Err(impossible(not)),
        };
        outcome.unwrap_or_else(Outcome::Failed)
    }

    /// Removes the directories that a failed task created, unless they are in use.
    fn remove_made_dirs(&mut self, steps: &mut [StepReport]) {
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
}

/// Whether a step restores a pool's maximum after its minimum changed.
fn sets_final_maximum(step: &Step) -> bool {
    matches!(
        step,
        Step::Write(Write {
            kind: NumberKind::Overcommit { .. },
            value: Value::Remainder { .. },
            ..
        })
    )
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
        hint: hint(step, &outcome, is_root),
        outcome,
    }
}

fn impossible(not: &Impossible) -> Failure {
    Failure::text(format!("{}: {}", not.subject, not.why))
}
