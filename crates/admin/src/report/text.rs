//! Formats the report as messages.

pub use hugetools_contract::level::Level;

use super::{NotRun, Outcome, StepReport, TaskReport};

/// A message for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its severity.
    pub level: Level,
    /// The event, and on a second line advice.
    pub text: String,
}

/// Formats the report as messages.
pub fn messages(tasks: &[TaskReport]) -> Vec<Message> {
    let mut all: Vec<Message> = Vec::new();
    for task in tasks {
        let skipped = skipped_steps(task);
        let mut was_added = false;
        for mut message in task.steps.iter().filter_map(message) {
            // Another option may have failed with the same message.
            let again = all.iter().any(|earlier| {
                earlier.level == Level::Error && earlier.text.starts_with(&message.text)
            });
            if message.level == Level::Error && again {
                message.level = Level::Info;
            }
            if let (Level::Error, Some(skipped), false) = (message.level, &skipped, was_added) {
                message.text.push_str(skipped);
                was_added = true;
            }
            all.push(message);
        }
    }
    all
}

/// A line about steps that a failure skipped. They are no failures of their own.
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
        Outcome::Planned => (Level::Warning, format!("{path}: {}", step.hint.as_deref()?)),
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
    if let (Some(hint), false) = (&step.hint, step.outcome == Outcome::Planned) {
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
        NotRun::TakenBack => (Level::Info, "removed again, since a later step failed"),
        NotRun::InUse => (Level::Info, "it is in use"),
    }
}

pub(super) fn past_participle(action: &str) -> &'static str {
    match action {
        "write" => "written",
        "demote" => "split",
        "make_dir" => "made",
        "remove_dir" => "removed",
        "mount" => "mounted",
        "unmount" => "unmounted",
        "swap_on" => "used as swap",
        "swap_off" => "swapped off",
        _ => "given its owner and mode",
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::report::Failure;

    pub(in crate::report) fn report(outcomes: Vec<Outcome>) -> Vec<TaskReport> {
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
    fn problems_are_at_least_warnings() {
        let not_run = |why| Outcome::NotRun { why };
        let tasks = report(vec![
            Outcome::Short {
                asked: 2,
                got: 1,
                tried: Vec::new(),
                interrupted: false,
            },
            not_run(NotRun::Interrupted),
        ]);
        let found: Vec<_> = messages(&tasks)
            .into_iter()
            .map(|m| (m.level, m.text))
            .collect();
        let found: Vec<_> = found
            .iter()
            .map(|(level, text)| (*level, text.as_str()))
            .collect();
        assert_eq!(
            found,
            [
                (Level::Warning, "/proc/sys/vm/nr_hugepages: asked 2, got 1"),
                (
                    Level::Warning,
                    "/proc/sys/vm/nr_hugepages: not written: interrupted"
                )
            ]
        );
    }

    #[test]
    fn each_failure_gives_one_message() {
        let failed = || {
            Outcome::Failed(Failure {
                written: None,
                errno: None,
                error: "cannot make directory /x".to_owned(),
            })
        };
        let left = || Outcome::NotRun {
            why: NotRun::EarlierFailed,
        };
        let mut tasks = report(vec![failed(), left(), left()]);
        tasks.extend(report(vec![failed(), left()]));
        tasks[0].option = "--create-mounts".to_owned();
        let all = messages(&tasks);
        let loud: Vec<_> = all.iter().filter(|m| m.level < Level::Info).collect();
        assert_eq!(loud.len(), 1, "{loud:?}");
        let text = "cannot make directory /x\n  2 more steps of --create-mounts are skipped";
        assert_eq!(loud[0].text, text);
    }
}
