//! The record for `--rollback`: the state before the last apply that changed anything, written
//! before its first change.
//!
//! **Invariants.** Later applies only add to an unfinished record. So it restores the state before
//! the first of them, even if one was killed.

mod prior_state;

use std::io;
use std::path::{Path, PathBuf};

use hugetools_model::{Machine, Root};
use serde::{Deserialize, Serialize};

use self::prior_state::{PriorState, read_states};
use super::check::differences;
use crate::effects::Effects;
use crate::plan::pool::margin::leaves_too_little;
use crate::plan::{Plan, Refusal, Task};
use crate::report::{Failure, Status};
use crate::step::{Install, Installed};

const DIR: &str = "/var/lib/hugetools";

/// The file of the record.
pub const RECORD: &str = "/var/lib/hugetools/rollback.json";

/// An empty file; its modification time is that of the last `--check`.
pub const CHECKED: &str = "/var/lib/hugetools/checked";

/// The state before an apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    finished: bool,
    before: Vec<PriorState>,
}

/// Runs an apply: `change` makes the changes and returns the status. Records the current
/// state first, unless nothing differs.
pub fn apply(
    plan: &Plan,
    root: &Root,
    effects: &mut dyn Effects,
    change: &mut dyn FnMut(&mut dyn Effects) -> Status,
) -> Result<(), Failure> {
    if differences(plan, root, effects)?.is_empty() {
        change(effects);
        return mark(true, effects);
    }
    let before = read_states(plan, root, effects)?;
    let replaced = begin(&before, effects)?;
    match (change(effects), replaced) {
        // The record stays unfinished: the next apply adds to it.
        (Status::Failed, _) => Ok(()),
        // Nothing changed, since the kernel fell short again: keep the older record.
        (_, Some(replaced)) if read_states(plan, root, effects)? == before => {
            write(&replaced, effects)
        }
        _ => mark(true, effects),
    }
}

/// Runs a rollback: `change` makes the changes and returns the status. Unless all is done, the
/// record stays for another attempt.
pub fn roll_back(
    effects: &mut dyn Effects,
    change: &mut dyn FnMut(&mut dyn Effects) -> Status,
) -> Result<(), Failure> {
    mark(false, effects)?;
    match change(effects) {
        Status::Done => remove(effects),
        _ => Ok(()),
    }
}

/// Writes the record of the state before a change. Returns the record that it replaces.
fn begin(before: &[PriorState], effects: &mut dyn Effects) -> Result<Option<Record>, Failure> {
    let (mut record, replaced) = match read(effects)? {
        Some(record) if !record.finished => (record, None),
        replaced => (Record::default(), replaced),
    };
    for before in before {
        let mut known = record.before.iter();
        if !known.any(|known| known.key() == before.key()) {
            record.before.push(before.clone());
        }
    }
    write(&record, effects)?;
    Ok(replaced)
}

/// Marks the record as finished or unfinished.
fn mark(finished: bool, effects: &mut dyn Effects) -> Result<(), Failure> {
    let record = read(effects)?.filter(|record| record.finished != finished);
    record.map_or(Ok(()), |record| {
        write(&Record { finished, ..record }, effects)
    })
}

/// Plans to restore everything, the latest change first; `None` without a record. Words are
/// restored before all else: the kernel raises `vm.min_free_kbytes` when a mode switches
/// transparent huge pages on.
///
/// # Errors
/// The record is unreadable or names other files.
pub fn plan(
    machine: &Machine,
    force: bool,
    effects: &mut dyn Effects,
) -> Result<Option<Plan>, Failure> {
    let Some(record) = read(effects)? else {
        return Ok(None);
    };
    let mut all: Vec<&PriorState> = record.before.iter().rev().collect();
    all.sort_by_key(|before| !matches!(before, PriorState::Word { .. }));
    let tasks = all
        .into_iter()
        .map(|before| Some(Task::new("--rollback", vec![before.restore(machine)?])));
    let tasks: Option<Vec<Task>> = tasks.collect();
    let tasks = tasks.ok_or_else(|| {
        Failure::text(format!("{RECORD} names files that are not kernel settings"))
    })?;
    let bytes = record
        .before
        .iter()
        .filter_map(|before| before.restore_bytes(machine))
        .sum();
    let harm = leaves_too_little(machine, bytes).filter(|_| !force);
    Ok(Some(Plan {
        tasks,
        refusal: harm.map(|why| Refusal::Harmful(format!("--rollback: {why}"))),
        ..Plan::default()
    }))
}

fn remove(effects: &mut dyn Effects) -> Result<(), Failure> {
    let removed = effects.remove_file(Path::new(RECORD));
    removed.map_err(|error| Failure::call(&format!("remove {RECORD}"), &error))?;
    // Fails if the directory holds other files.
    let _ = effects.remove_dir(Path::new(DIR));
    Ok(())
}

/// Records the time of a check for `--metrics`. Ignores errors: a check needs no privilege.
pub fn note_check(effects: &mut dyn Effects) {
    let checked = Install {
        path: PathBuf::from(CHECKED),
        contents: Installed::Text {
            text: String::new(),
            mode: 0o644,
        },
    };
    let _ = make_dir(effects).and_then(|()| effects.install(&checked));
}

fn read(effects: &mut dyn Effects) -> Result<Option<Record>, Failure> {
    let found = effects.read_installed(Path::new(RECORD));
    let failed = |error| Failure::call(&format!("read {RECORD}"), &error);
    match found.map_err(failed)? {
        Some(Installed::Text { text, .. }) => {
            let record = serde_json::from_str(&text);
            record.map(Some).map_err(|error| {
                Failure::text(format!(
                    "cannot read {RECORD}: {error}\n  remove it; then the last --apply cannot be \
                     rolled back"
                ))
            })
        }
        Some(Installed::Link(_)) => Err(failed(io::Error::other("it is a link"))),
        None => Ok(None),
    }
}

fn write(record: &Record, effects: &mut dyn Effects) -> Result<(), Failure> {
    let failed = |error| Failure::call(&format!("write {RECORD}"), &error);
    make_dir(effects).map_err(failed)?;
    let text = serde_json::to_string_pretty(record);
    let text = text.map_err(|error| failed(io::Error::other(error)))?;
    let contents = Installed::Text {
        text: text + "\n",
        mode: 0o644,
    };
    let path = PathBuf::from(RECORD);
    effects.install(&Install { path, contents }).map_err(failed)
}

/// Creates the directory and its missing parents.
fn make_dir(effects: &mut dyn Effects) -> io::Result<()> {
    let mut missing = Vec::new();
    for dir in Path::new(DIR).ancestors() {
        if effects.stat(dir)?.is_some() {
            break;
        }
        missing.push(dir);
    }
    let mut missing = missing.into_iter().rev();
    missing.try_for_each(|dir| effects.make_dir(dir, 0o755))
}
