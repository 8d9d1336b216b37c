//! Runs a plan, or only says what would become of it. Nothing is decided
//! here: each step is looked at, done if it is not so already, and looked at
//! again in the same place.

use std::io;

use hugetools_model::error::{Cause, Op};
use hugetools_model::{FileError, Root};

use crate::effects::{Effects, Ran};
use crate::hint::hint;
use crate::plan::{Impossible, MakeDir, Mount, Number, Own, Plan, Step, Task, Value, What, Write};
use crate::report::{Failure, NotRun, Outcome, StepReport, TaskReport};
use crate::shell;

/// Runs all tasks, whatever comes of one of them.
pub fn apply(plan: &Plan, root: &Root, effects: &mut dyn Effects) -> Vec<TaskReport> {
    let tasks = plan.tasks.iter();
    tasks.map(|task| run_task(task, root, effects)).collect()
}

/// The report of a plan that is not run: what is known to fail fails here
/// already.
pub fn rehearse(plan: &Plan, root: &Root) -> Vec<TaskReport> {
    let step = |step: &Step| {
        let failure = foreseen(step, root);
        let outcome = failure.map_or(Outcome::Planned, Outcome::Failed);
        report(step, outcome, root)
    };
    let task = |task: &Task| TaskReport {
        option: task.option.clone(),
        steps: task.steps.iter().map(step).collect(),
    };
    plan.tasks.iter().map(task).collect()
}

fn run_task(task: &Task, root: &Root, effects: &mut dyn Effects) -> TaskReport {
    let mut failed = false;
    let mut steps = Vec::new();
    for step in &task.steps {
        let outcome = match failed {
            true => Outcome::NotRun {
                why: NotRun::EarlierFailed,
            },
            false => run(step, root, effects).unwrap_or_else(Outcome::Failed),
        };
        failed |= matches!(outcome, Outcome::Failed(_));
        steps.push(report(step, outcome, root));
    }
    TaskReport {
        option: task.option.clone(),
        steps,
    }
}

fn report(step: &Step, outcome: Outcome, root: &Root) -> StepReport {
    let (action, path) = step.subject();
    StepReport {
        action,
        path,
        shell: shell::line(step, root),
        hint: hint(step, &outcome),
        outcome,
    }
}

fn run(step: &Step, root: &Root, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    if let Some(failure) = foreseen(step, root) {
        return Err(failure);
    }
    match step {
        Step::Write(write) => run_write(write, root),
        Step::MakeDir(dir) => make_dir(dir, effects),
        Step::Mount(mount) => run_mount(mount, root, effects),
        Step::Own(own) => run_own(own, root, effects),
        Step::Impossible(not) => Err(impossible(not)),
    }
}

/// What is known to fail without being tried. What a kernel is known to
/// refuse is among it only where there is no kernel to ask.
fn foreseen(step: &Step, root: &Root) -> Option<Failure> {
    match step {
        Step::Impossible(not) => Some(impossible(not)),
        Step::Write(write) if write.refused.is_some() && !root.has_kernel() => {
            let asked = value(&write.value, root);
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

fn run_write(write: &Write, root: &Root) -> Result<Outcome, Failure> {
    let asked = value(&write.value, root)?;
    let before = number(&write.file, root)?;
    if before == asked {
        return Ok(Outcome::Unchanged {
            value: Some(before),
        });
    }
    root.write(&write.file.path, &asked.to_string())?;
    let got = number(&write.file, root)?;
    match (got == asked, write.what) {
        (true, _) => Ok(Outcome::Changed {
            from: Some(before),
            to: Some(got),
        }),
        (false, What::Pages { .. }) => Ok(Outcome::Short { asked, got }),
        (false, What::Overcommit { .. } | What::Setting) => Err(Failure {
            written: Some(asked.to_string()),
            errno: None,
            error: format!(
                "{asked} was written to {}, which says {got} now",
                write.file.path
            ),
        }),
    }
}

fn value(value: &Value, root: &Root) -> Result<u64, FileError> {
    match value {
        Value::Plain(number) => Ok(*number),
        Value::Rest { of, less } => less.iter().try_fold(*of, |rest, file| {
            Ok(rest.saturating_sub(number(file, root)?))
        }),
    }
}

/// The number in a file; where a kernel stands behind it, without the pages
/// that it includes and does not take when written.
fn number(file: &Number, root: &Root) -> Result<u64, FileError> {
    let number = root.number(&file.path)?;
    match &file.surplus {
        Some(surplus) if root.has_kernel() => {
            let surplus = root.number_opt(surplus)?.unwrap_or(0);
            Ok(number.saturating_sub(surplus))
        }
        _ => Ok(number),
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

fn make_dir(dir: &MakeDir, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    let mut missing = Vec::new();
    for path in dir.path.ancestors() {
        let told = format!("make directory {}", dir.path.display());
        match effects.look(path).map_err(|e| Failure::call(&told, &e))? {
            Some(found) if found.directory => break,
            Some(_) => {
                let error = io::Error::from_raw_os_error(libc::ENOTDIR);
                return Err(Failure::call(&told, &error));
            }
            None => missing.push(path),
        }
        if !dir.parents {
            break;
        }
    }
    if missing.is_empty() {
        return Ok(Outcome::Unchanged { value: None });
    }
    for path in missing.iter().rev() {
        let told = format!("make directory {}", path.display());
        effects
            .make_dir(path, dir.owner.mode)
            .and_then(|()| effects.own(path, dir.owner))
            .map_err(|error| Failure::call(&told, &error))?;
    }
    Ok(CHANGED)
}

const CHANGED: Outcome = Outcome::Changed {
    from: None,
    to: None,
};

const NOT_HERE: Outcome = Outcome::NotRun {
    why: NotRun::RecordedTree,
};

fn run_mount(mount: &Mount, root: &Root, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    let told = format!("mount a hugetlbfs on {}", mount.point.display());
    match effects.mount(mount) {
        Ok(Ran::NotHere) => return Ok(NOT_HERE),
        Ok(Ran::Yes) => {}
        Err(error) => return Err(Failure::call(&told, &error)),
    }
    let mounts = hugetools_model::mount::read(root)?;
    let found = hugetools_model::mount::mounted_at(&mounts, &mount.point);
    let size = found
        .filter(|found| found.is_hugetlbfs())
        .map(|found| found.page_size());
    let same = size.is_some_and(|size| size.is_none_or(|size| size == mount.size));
    let owner = effects.look(&mount.point).ok().flatten();
    if same && owner.is_some_and(|found| found.owner == mount.owner) {
        return Ok(CHANGED);
    }
    Err(Failure {
        written: None,
        errno: None,
        error: format!("{told}: the kernel took it, but something else is there now"),
    })
}

fn run_own(own: &Own, root: &Root, effects: &mut dyn Effects) -> Result<Outcome, Failure> {
    let told = format!("set owner and mode of {}", own.point.display());
    if !root.has_kernel() {
        return Ok(NOT_HERE);
    }
    let is_so = |effects: &mut dyn Effects| match effects.look(&own.point) {
        Ok(found) => Ok(found.is_some_and(|found| found.owner == own.owner)),
        Err(error) => Err(Failure::call(&told, &error)),
    };
    if is_so(effects)? {
        return Ok(Outcome::Unchanged { value: None });
    }
    effects
        .own(&own.point, own.owner)
        .map_err(|error| Failure::call(&told, &error))?;
    match is_so(effects)? {
        true => Ok(CHANGED),
        false => Err(Failure {
            written: None,
            errno: None,
            error: format!("cannot {told}: it did not stay as set"),
        }),
    }
}
