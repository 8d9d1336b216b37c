//! `--check`: differences between the machine and a plan. Writes nothing.

use std::path::Path;

use hugetools_model::{FileError, KPath, Root, thp};
use serde::Serialize;

use crate::apply::numbers::{number, value};
use crate::effects::Effects;
use crate::plan::Plan;
use crate::report::Failure;
use crate::step::{Owner, Step};

/// One difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The request: an option, or a key of the file with its position.
    pub what: String,
    /// The file or directory.
    pub file: String,
    /// The current value, or why this machine lacks the setting.
    pub is: String,
    /// The requested value; `None` if this machine lacks the setting.
    pub should: Option<String>,
}

/// Returns all differences. If several steps write a number, the last one counts.
pub fn differences(
    plan: &Plan,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Vec<Difference>, Failure> {
    let mut planned = PlannedNumbers {
        root,
        numbers: Vec::new(),
    };
    let mut found = Vec::new();
    for task in &plan.tasks {
        for step in &task.steps {
            if let Step::Write(write) = step {
                let to = value(write, root, &|file| planned.number(file))?;
                planned.set(&task.option, &write.path, to);
            } else if let Some((file, is, should)) = step_difference(step, root, effects)? {
                let what = task.option.clone();
                found.push(Difference {
                    what,
                    file,
                    is,
                    should,
                });
            }
        }
    }
    for (what, path, should) in planned.numbers {
        let is = number(&path, root)?;
        if is != should {
            found.push(Difference {
                what,
                file: path.to_string(),
                is: is.to_string(),
                should: Some(should.to_string()),
            });
        }
    }
    Ok(found)
}

/// The numbers that a plan writes, in order.
struct PlannedNumbers<'a> {
    root: &'a Root,
    numbers: Vec<(String, KPath, u64)>,
}

impl PlannedNumbers<'_> {
    fn set(&mut self, what: &str, path: &KPath, to: u64) {
        let mut numbers = self.numbers.iter_mut();
        match numbers.find(|(_, planned, _)| planned == path) {
            Some((_, _, number)) => *number = to,
            None => self.numbers.push((what.to_owned(), path.clone(), to)),
        }
    }

    fn number(&self, path: &KPath) -> Result<u64, FileError> {
        let mut numbers = self.numbers.iter();
        match numbers.find(|(_, planned, _)| planned == path) {
            Some((_, _, number)) => Ok(*number),
            None => number(path, self.root),
        }
    }
}

/// Returns file, current value and requested value if the step would change something.
fn step_difference(
    step: &Step,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Option<(String, String, Option<String>)>, Failure> {
    let mut owner = |path: &Path| effects.stat(path).ok().flatten().map(|found| found.owner);
    let shown = |owner: Owner| format!("{}:{} {:04o}", owner.uid, owner.gid, owner.mode);
    Ok(match step {
        _ if step.is_skipped_on(root) => None,
        Step::SelectWord(select) => {
            let is = thp::marked(&select.path, &root.read(&select.path)?)?;
            (is != select.word).then(|| (select.path.to_string(), is, Some(select.word.clone())))
        }
        Step::Mount(mount) => {
            let point = mount.point.display().to_string();
            Some((
                point,
                "not mounted".to_owned(),
                Some(format!("a hugetlbfs: {}", mount.options())),
            ))
        }
        Step::SetOwner(own) => match owner(&own.point) {
            Some(found) if found != own.owner => {
                let point = own.point.display().to_string();
                Some((point, shown(found), Some(shown(own.owner))))
            }
            // For a missing directory, the mount step reports the difference.
            _ => None,
        },
        Step::Impossible(not) => Some((not.subject.clone(), not.why.clone(), None)),
        _ => None,
    })
}
