//! Formats the report as messages.

pub use hugetools_contract::level::Level;

use super::{NotRun, Outcome, StepReport, TaskReport};

/// A message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its severity.
    pub level: Level,
    /// What happened, and advice on a second line.
    pub text: String,
}

/// Formats the report as messages.
pub fn messages(tasks: &[TaskReport]) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::new();
    for task in tasks {
        let skipped = skipped_steps(task);
        let mut was_added = false;
        for mut message in task.steps.iter().filter_map(message) {
            if let (Level::Error, Some(skipped), false) = (message.level, &skipped, was_added) {
                message.text.push_str(skipped);
                was_added = true;
            }
            all.push(message);
        }
    }
    all
}

/// Returns confirmations for a terminal: one line per file, with its first and its last value.
pub fn confirmations(tasks: &[TaskReport]) -> Vec<String> {
    let steps = tasks.iter().flat_map(|task| &task.steps);
    let steps = steps.filter(|step| matches!(step.outcome, Outcome::Changed { .. }));
    let steps: Vec<&StepReport> = steps.collect();
    let same = |one: &StepReport, other: &StepReport| {
        (&one.path, one.action) == (&other.path, other.action)
    };
    let line = |(at, last): (usize, &&StepReport)| {
        if steps[at + 1..].iter().any(|later| same(later, last)) {
            return None;
        }
        let first = steps.iter().find(|first| same(first, last))?;
        match (&first.outcome, &last.outcome) {
            (
                Outcome::Changed {
                    from: Some(from), ..
                },
                Outcome::Changed { to: Some(to), .. },
            ) => (from != to).then(|| format!("{}: {from} -> {to}", last.path)),
            _ => message(last).map(|message| message.text),
        }
    };
    steps.iter().enumerate().filter_map(line).collect()
}

/// Counts the steps that were skipped after a failure.
fn skipped_steps(task: &TaskReport) -> Option<String> {
    let earlier_failed = |step: &&StepReport| {
        let why = NotRun::EarlierFailed;
        step.outcome == Outcome::NotRun { why }
    };
    match task.steps.iter().filter(earlier_failed).count() {
        0 => None,
        1 => Some(format!("\n  1 more step of {} is skipped", task.option)),
        more => Some(format!(
            "\n  {more} more steps of {} are skipped",
            task.option
        )),
    }
}

fn message(step: &StepReport) -> Option<Message> {
    let path = &step.path;
    let (level, mut text) = match &step.outcome {
        Outcome::Planned => return None,
        Outcome::Unchanged { value: Some(value) } => {
            (Level::Info, format!("{path}: already {value}"))
        }
        Outcome::Unchanged { value: None } => {
            (Level::Info, format!("{path}: already as requested"))
        }
        Outcome::Changed {
            from: Some(from),
            to: Some(to),
        } => (Level::Info, format!("{path}: {from} -> {to}")),
        Outcome::Changed { .. } => (
            Level::Info,
            format!("{path}: {}", past_participle(step.action)),
        ),
        Outcome::Short { asked, got, .. } => {
            (Level::Warning, format!("{path}: asked {asked}, got {got}"))
        }
        Outcome::Failed(failure) => (Level::Error, failure.error.clone()),
        Outcome::NotRun { why } => {
            let (level, why) = reason(*why);
            (
                level,
                format!("{path}: not {}: {why}", past_participle(step.action)),
            )
        }
    };
    if let Some(hint) = &step.hint {
        text.push_str("\n  ");
        text.push_str(hint);
    }
    Some(Message { level, text })
}

fn reason(why: NotRun) -> (Level, &'static str) {
    match why {
        NotRun::RecordedTree => (Level::Warning, "this is a recorded tree"),
        NotRun::EarlierFailed => (Level::Info, "an earlier step failed"),
        NotRun::Interrupted => (Level::Warning, "interrupted"),
        NotRun::TakenBack => (Level::Info, "a later step failed, so it was removed"),
        NotRun::InUse => (Level::Info, "it is in use"),
    }
}

fn past_participle(action: &str) -> &'static str {
    match action {
        "write" | "install" => "written",
        "make_dir" => "made",
        "remove_dir" | "remove_file" => "removed",
        "run" => "run",
        "mount" => "mounted",
        "unmount" => "unmounted",
        "swap_on" => "used as swap",
        "swap_off" => "removed from swap",
        _ => "given its owner and mode",
    }
}
