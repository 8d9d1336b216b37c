//! Results of all steps: values before, requested and obtained. Text and JSON show the same values.
//!
//! [`hint`]: advice after a step that fell short or failed.
//!
//! **Invariants.** The value obtained was read back after the write. The worst step sets the exit
//! status.

pub mod hint;
mod text;

use std::fmt;
use std::io;

use hugetools_model::FileError;
use hugetools_model::root::error::describe;
use serde::Serialize;

use crate::step::Step;

pub use text::{Level, Message, confirmations, messages};

/// The result of a run, and its exit status. The worst one wins: usage, failed, short,
/// differs, done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Status {
    /// Everything is as requested: 0.
    #[default]
    Done,
    /// The machine differs from the file: 4.
    Differs,
    /// Less than requested: 3.
    Short,
    /// Something failed: 1.
    Failed,
    /// The command line is wrong and nothing was done: 2.
    Usage,
}

impl Status {
    /// Returns the exit status.
    pub fn code(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Failed => 1,
            Status::Usage => 2,
            Status::Short => 3,
            Status::Differs => 4,
        }
    }
}

/// The result of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TaskReport {
    /// The option as written.
    pub option: String,
    /// Its steps, in order.
    pub steps: Vec<StepReport>,
    /// Whether a shortage is only a warning.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
}

impl TaskReport {
    /// Returns the worst status of its steps.
    pub fn status(&self) -> Status {
        let statuses = self.steps.iter().map(|step| step.outcome.status());
        let worst = statuses.max().unwrap_or_default();
        match (worst, self.optional) {
            (Status::Short, true) => Status::Done,
            _ => worst,
        }
    }
}

/// The result of one step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StepReport {
    /// `write`, `make_dir`, `remove_dir`, `mount`, `own`, `unmount`, `swap_on`,
    /// `swap_off`, `install`, `remove_file`, `run` or `impossible`.
    pub action: &'static str,
    /// The file or directory (without the `--sysroot`), the command, or the option.
    pub path: String,
    /// The step as a shell command.
    pub shell: String,
    /// Its result.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Advice, if there is any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The result of a step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Outcome {
    /// A dry run: not executed.
    Planned,
    /// The value was already right.
    Unchanged {
        /// The value of a kernel file.
        #[serde(skip_serializing_if = "Option::is_none")]
        value: Option<Content>,
    },
    /// The value was changed.
    Changed {
        /// The old value of a kernel file.
        #[serde(skip_serializing_if = "Option::is_none")]
        from: Option<Content>,
        /// The value read back.
        #[serde(skip_serializing_if = "Option::is_none")]
        to: Option<Content>,
    },
    /// The kernel accepted the write, but `got` differs from `asked`.
    Short {
        /// The number requested.
        asked: u64,
        /// The number obtained.
        got: u64,
        /// Further attempts, or their errors.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tried: Vec<String>,
        /// Whether a signal ended the attempt.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        interrupted: bool,
    },
    /// The step failed.
    Failed(Failure),
    /// The step was not executed.
    NotRun {
        /// The reason.
        why: NotRun,
    },
}

/// The contents of a kernel file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Content {
    /// A number.
    Number(u64),
    /// The selected word.
    Word(String),
}

impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Content::Number(number) => number.fmt(f),
            Content::Word(word) => word.fmt(f),
        }
    }
}

impl From<u64> for Content {
    fn from(number: u64) -> Content {
        Content::Number(number)
    }
}

impl From<String> for Content {
    fn from(word: String) -> Content {
        Content::Word(word)
    }
}

/// Why a step failed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The value of the failed write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub written: Option<String>,
    /// The error number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub errno: Option<i32>,
    /// The whole message.
    pub error: String,
}

/// Why a step was not executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotRun {
    /// Skipped on a recorded tree: mounts, owners, swap, commands. Counts as success.
    RecordedTree,
    /// An earlier step of the task failed.
    EarlierFailed,
    /// The run was interrupted earlier.
    Interrupted,
    /// A directory in use. Counts as success.
    InUse,
    /// A directory that was removed again after a later step failed.
    TakenBack,
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
    /// Returns a failure without an error number.
    pub(crate) fn text(error: String) -> Failure {
        Failure {
            written: None,
            errno: None,
            error,
        }
    }

    /// Returns a failed call. `what` completes the message "cannot ...".
    pub fn call(what: &str, error: &io::Error) -> Failure {
        let errno = error.raw_os_error();
        let why = describe(error);
        Failure {
            written: None,
            errno,
            error: format!("cannot {what}: {why}"),
        }
    }
}

impl Outcome {
    /// A successful step without a value.
    pub const DONE: Outcome = Outcome::Changed {
        from: None,
        to: None,
    };

    /// Returns `Unchanged` with the value of a kernel file.
    pub fn unchanged(value: impl Into<Content>) -> Outcome {
        Outcome::Unchanged {
            value: Some(value.into()),
        }
    }

    /// Returns `Changed` with the old and the new value of a kernel file.
    pub fn changed<T: Into<Content>>(from: T, to: T) -> Outcome {
        Outcome::Changed {
            from: Some(from.into()),
            to: Some(to.into()),
        }
    }

    /// Returns the status of this result.
    pub fn status(&self) -> Status {
        match self {
            Outcome::Failed(_) => Status::Failed,
            Outcome::Short { .. } => Status::Short,
            Outcome::NotRun {
                why: NotRun::Interrupted,
            } => Status::Failed,
            // After a failure, the failed step counts.
            Outcome::NotRun { .. } => Status::Done,
            Outcome::Planned | Outcome::Unchanged { .. } | Outcome::Changed { .. } => Status::Done,
        }
    }
}

impl Step {
    /// Returns the JSON name of the action, and its subject.
    pub fn subject(&self) -> (&'static str, String) {
        match self {
            Step::Write(write) => ("write", write.path.to_string()),
            Step::SelectWord(select) => ("write", select.path.to_string()),
            Step::MakeDir(dir) => ("make_dir", dir.path.display().to_string()),
            Step::RemoveDir(path) => ("remove_dir", path.display().to_string()),
            Step::Mount(mount) => ("mount", mount.point.display().to_string()),
            Step::SetOwner(own) => ("own", own.point.display().to_string()),
            Step::Unmount(point) => ("unmount", point.display().to_string()),
            Step::SwapOn(swap) => ("swap_on", swap.path.display().to_string()),
            Step::SwapOff(swap) => ("swap_off", swap.path.display().to_string()),
            Step::Install(install) => ("install", install.path.display().to_string()),
            Step::RemoveFile(path) => ("remove_file", path.display().to_string()),
            Step::Run(words) => ("run", words.join(" ")),
            Step::Impossible(not) => ("impossible", not.subject.clone()),
        }
    }
}

/// Returns the worst status of all steps.
pub fn status(tasks: &[TaskReport]) -> Status {
    let tasks = tasks.iter().map(TaskReport::status);
    tasks.max().unwrap_or_default()
}
