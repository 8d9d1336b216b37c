//! What each step found, wanted and got. Text and JSON come from the same
//! values.

use std::io;

use hugetools_model::FileError;
use hugetools_model::error::describe_errno;
use serde::Serialize;

use crate::plan::Step;

/// How a run ends, and the exit status for it. Of several the worst counts:
/// usage, then failed, then short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Status {
    /// Everything is as it was asked for: 0.
    #[default]
    Done,
    /// Less than was asked for: 3.
    Short,
    /// Something failed: 1.
    Failed,
    /// The command line is wrong and nothing was done: 2.
    Usage,
}

impl Status {
    /// The exit status.
    pub fn code(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Failed => 1,
            Status::Usage => 2,
            Status::Short => 3,
        }
    }
}

/// How much a message matters; a message is shown when its number is at most
/// the verbosity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// 1
    Error = 1,
    /// 2
    Warning = 2,
    /// 3
    Info = 3,
}

/// A line for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// How much it matters.
    pub level: Level,
    /// What happened, and on a second line what to do next.
    pub text: String,
}

/// What came of one option.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskReport {
    /// The option as written.
    pub option: String,
    /// Its steps, all of them, in order.
    pub steps: Vec<StepReport>,
}

/// What came of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// `write`, `make_dir`, `mount`, `own` or `impossible`.
    pub action: &'static str,
    /// The file or directory, as the machine names it.
    pub path: String,
    /// The step as a shell command.
    pub shell: String,
    /// What came of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// What to do next, where something is to be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// What came of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// A dry run: it was not tried.
    Planned,
    /// It was so already.
    Unchanged {
        /// The number found, where it is about a number.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<u64>,
    },
    /// It is so now.
    Changed {
        /// The number before, where it is about a number.
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<u64>,
        /// The number read back.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<u64>,
    },
    /// The kernel took it and did not do all of it.
    Short {
        /// The number written.
        asked: u64,
        /// The number read back.
        got: u64,
    },
    /// It could not be done.
    Failed(Failure),
    /// It was not tried.
    NotRun {
        /// Why not.
        why: NotRun,
    },
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// What was being written.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// The kernel's error number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// All of it in words.
    pub error: String,
}

/// Why a step was not tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotRun {
    /// A recorded tree has no mounts and no owners. It counts as done.
    RecordedTree,
    /// A step before it failed.
    EarlierFailed,
}

impl From<FileError> for Failure {
    fn from(error: FileError) -> Failure {
        Failure {
            written: error.value.clone(),
            errno: error.errno(),
            error: error.to_string(),
        }
    }
}

impl Failure {
    /// A failed call: `what` completes "cannot".
    pub fn call(what: &str, error: &io::Error) -> Failure {
        let errno = error.raw_os_error();
        let why = errno.map_or_else(|| error.to_string(), describe_errno);
        Failure {
            written: None,
            errno,
            error: format!("cannot {what}: {why}"),
        }
    }
}

impl Outcome {
    /// How this outcome ends a run.
    pub fn status(&self) -> Status {
        match self {
            Outcome::Failed(_) => Status::Failed,
            Outcome::Short { .. } => Status::Short,
            // The failed step before it has counted already.
            Outcome::NotRun { .. } => Status::Done,
            Outcome::Planned | Outcome::Unchanged { .. } | Outcome::Changed { .. } => Status::Done,
        }
    }
}

impl Step {
    /// The name of its kind, and what it is about.
    pub fn subject(&self) -> (&'static str, String) {
        match self {
            Step::Write(write) => ("write", write.file.path.to_string()),
            Step::MakeDir(dir) => ("make_dir", dir.path.display().to_string()),
            Step::Mount(mount) => ("mount", mount.point.display().to_string()),
            Step::Own(own) => ("own", own.point.display().to_string()),
            Step::Impossible(not) => ("impossible", not.subject.clone()),
        }
    }
}

/// The worst status of all steps.
pub fn status(tasks: &[TaskReport]) -> Status {
    let steps = tasks.iter().flat_map(|task| &task.steps);
    steps
        .map(|step| step.outcome.status())
        .max()
        .unwrap_or_default()
}

/// The report as lines for the user.
pub fn messages(tasks: &[TaskReport]) -> Vec<Message> {
    let steps = tasks.iter().flat_map(|task| &task.steps);
    steps.filter_map(message).collect()
}

fn message(step: &StepReport) -> Option<Message> {
    let path = &step.path;
    let (level, mut text) = match &step.outcome {
        Outcome::Planned => (Level::Warning, format!("{path}: {}", step.hint.as_deref()?)),
        Outcome::Unchanged { value: Some(value) } => {
            (Level::Info, format!("{path}: {value} already"))
        }
        Outcome::Unchanged { value: None } => (Level::Info, format!("{path}: as asked already")),
        Outcome::Changed {
            from: Some(from),
            to: Some(to),
        } => (Level::Info, format!("{path}: {from} -> {to}")),
        Outcome::Changed { .. } => (Level::Info, format!("{path}: {}", done(step.action))),
        Outcome::Short { asked, got } => {
            (Level::Warning, format!("{path}: asked {asked}, got {got}"))
        }
        Outcome::Failed(failure) => (Level::Error, failure.error.clone()),
        Outcome::NotRun {
            why: NotRun::RecordedTree,
        } => (
            Level::Warning,
            format!("{path}: not {}: this is a recorded tree", done(step.action)),
        ),
        Outcome::NotRun {
            why: NotRun::EarlierFailed,
        } => (
            Level::Warning,
            format!(
                "{path}: not {}: the step before it failed",
                done(step.action)
            ),
        ),
    };
    if let (Some(hint), false) = (&step.hint, step.outcome == Outcome::Planned) {
        text.push_str("\n  ");
        text.push_str(hint);
    }
    Some(Message { level, text })
}

fn done(action: &str) -> &'static str {
    match action {
        "write" => "written",
        "make_dir" => "made",
        "mount" => "mounted",
        _ => "given its owner and mode",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(outcomes: Vec<Outcome>) -> Vec<TaskReport> {
        let step = |outcome| StepReport {
            action: "write",
            path: "/proc/sys/vm/nr_hugepages".to_owned(),
            shell: String::new(),
            outcome,
            hint: None,
        };
        vec![TaskReport {
            option: String::new(),
            steps: outcomes.into_iter().map(step).collect(),
        }]
    }

    #[test]
    fn of_several_statuses_the_worst_counts() {
        let short = || Outcome::Short { asked: 2, got: 1 };
        let failed = || {
            let error = io::Error::from_raw_os_error(libc::EIO);
            Outcome::Failed(Failure::call("write", &error))
        };
        let unchanged = || Outcome::Unchanged { value: None };
        let code = |outcomes| status(&report(outcomes)).code();
        assert_eq!(code(vec![]), 0);
        assert_eq!(code(vec![unchanged(), short()]), 3);
        assert_eq!(code(vec![failed(), short(), unchanged()]), 1);
        assert!(Status::Usage > Status::Failed);
    }

    #[test]
    fn nothing_that_went_wrong_is_below_a_warning() {
        let why = NotRun::EarlierFailed;
        let tasks = report(vec![
            Outcome::Short { asked: 2, got: 1 },
            Outcome::NotRun { why },
        ]);
        let told: Vec<_> = messages(&tasks)
            .into_iter()
            .map(|m| (m.level, m.text))
            .collect();
        let told: Vec<_> = told
            .iter()
            .map(|(level, text)| (*level, text.as_str()))
            .collect();
        assert_eq!(
            told,
            [
                (Level::Warning, "/proc/sys/vm/nr_hugepages: asked 2, got 1"),
                (
                    Level::Warning,
                    "/proc/sys/vm/nr_hugepages: not written: the step before it failed"
                )
            ]
        );
    }
}
