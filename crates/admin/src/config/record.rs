//! The record for `--rollback`: the state before the last apply that changed anything, written
//! before its first change.
//!
//! **Invariants.** Later applies only add to an unfinished record. So it restores the state before
//! the first of them, even if one was killed.

use std::io;
use std::path::{Path, PathBuf};

use hugetools_model::hugetlb::node::node_pool_path;
use hugetools_model::hugetlb::pool::{NR_HUGEPAGES, counter_path};
use hugetools_model::{KPath, Machine, Root, thp};
use serde::{Deserialize, Serialize};

use super::check::differences;
use crate::apply::numbers::number;
use crate::effects::Effects;
use crate::plan::pool::margin::leaves_too_little;
use crate::plan::{Plan, Refusal, Task};
use crate::report::{Failure, Status};
use crate::request::boot::kernel::is_gigantic;
use crate::step::{
    Effort, Install, Installed, MakeDir, NumberKind, Owner, Pages, SelectWord, SetOwner, Step,
    Value, Write,
};

const DIR: &str = "/var/lib/hugetools";

/// The file of the record.
pub const RECORD: &str = "/var/lib/hugetools/rollback.json";

/// An empty file; its modification time is that of the last `--check`.
pub const CHECKED: &str = "/var/lib/hugetools/checked";

/// The state before an apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    finished: bool,
    before: Vec<Before>,
}

/// The state of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Before {
    Number {
        path: String,
        number: u64,
        /// The page size in bytes, if this is a number of pages.
        pages: Option<u64>,
    },
    Word {
        path: String,
        word: String,
    },
    Owner {
        path: PathBuf,
        uid: u32,
        gid: u32,
        mode: u32,
    },
    NotMounted(PathBuf),
    NoDirectory(PathBuf),
}

impl Before {
    fn is_of(&self, other: &Before) -> bool {
        self.subject() == other.subject()
    }

    fn subject(&self) -> (u8, &Path) {
        match self {
            Before::Number { path, .. } | Before::Word { path, .. } => (0, Path::new(path)),
            Before::Owner { path, .. } => (1, path),
            Before::NotMounted(path) => (2, path),
            Before::NoDirectory(path) => (3, path),
        }
    }
}

/// Runs an apply: `change` makes the changes and returns the status. Records the present state
/// first, unless nothing differs.
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
    let before = present(plan, root, effects)?;
    let replaced = begin(&before, effects)?;
    match (change(effects), replaced) {
        // The record stays unfinished: the next apply adds to it.
        (Status::Failed, _) => Ok(()),
        // Nothing changed, since the kernel fell short again: keep the older record.
        (_, Some(replaced)) if present(plan, root, effects)? == before => write(&replaced, effects),
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
fn begin(before: &[Before], effects: &mut dyn Effects) -> Result<Option<Record>, Failure> {
    let (mut record, replaced) = match read(effects)? {
        Some(record) if !record.finished => (record, None),
        replaced => (Record::default(), replaced),
    };
    for before in before {
        if !record.before.iter().any(|known| known.is_of(before)) {
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
    let mut all: Vec<&Before> = record.before.iter().rev().collect();
    all.sort_by_key(|before| !matches!(before, Before::Word { .. }));
    let tasks = all
        .into_iter()
        .map(|before| Some(Task::new("--rollback", vec![restore(before, machine)?])));
    let tasks: Option<Vec<Task>> = tasks.collect();
    let tasks = tasks.ok_or_else(|| {
        Failure::text(format!(
            "{RECORD} names files that are no settings of the kernel"
        ))
    })?;
    let cost = record
        .before
        .iter()
        .map(|before| cost(before, machine))
        .sum();
    let harm = leaves_too_little(machine, cost).filter(|_| !force);
    Ok(Some(Plan {
        tasks,
        refusal: harm.map(|why| Refusal::Harmful(format!("--rollback: {why}"))),
        ..Plan::default()
    }))
}

/// Returns the bytes that a restored pool takes; negative if it shrinks.
fn cost(before: &Before, machine: &Machine) -> i128 {
    let found = machine.pools.iter().find_map(|pool| match before {
        Before::Number { path, number, .. }
            if *path == counter_path(pool, NR_HUGEPAGES).to_string() =>
        {
            Some((pool, *number))
        }
        _ => None,
    });
    found.map_or(0, |(pool, number)| {
        let more = i128::from(number) - i128::from(pool.minimum().get());
        more * i128::from(pool.size.get())
    })
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
    let found = effects.installed(Path::new(RECORD));
    let failed = |error| Failure::call(&format!("read {RECORD}"), &error);
    match found.map_err(failed)? {
        Some(Installed::Text { text, .. }) => {
            let record = serde_json::from_str(&text);
            record
                .map(Some)
                .map_err(|error| failed(io::Error::other(error)))
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

/// Returns the present state of everything that a plan changes.
fn present(plan: &Plan, root: &Root, effects: &mut dyn Effects) -> Result<Vec<Before>, Failure> {
    let machine = Machine::read(root)?;
    let mut all = Vec::new();
    for step in plan.tasks.iter().flat_map(|task| &task.steps) {
        all.extend(of_step(step, &machine, root, effects)?);
    }
    Ok(all)
}

fn of_step(
    step: &Step,
    machine: &Machine,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Vec<Before>, Failure> {
    Ok(match step {
        _ if step.is_skipped_on(root) => Vec::new(),
        Step::Write(write) => numbers(write, machine, root)?,
        Step::SelectWord(SelectWord { path, .. }) => vec![Before::Word {
            path: path.to_string(),
            word: thp::marked(path, &root.read(path)?)?,
        }],
        Step::SetOwner(SetOwner { point, .. }) => {
            let found = effects.stat(point).ok().flatten();
            let owner = found.map(|found| found.owner);
            let before = owner.map(|Owner { uid, gid, mode }| Before::Owner {
                path: point.clone(),
                uid,
                gid,
                mode,
            });
            before.into_iter().collect()
        }
        Step::Mount(mount) if machine.mounts.iter().any(|it| it.point == mount.point) => Vec::new(),
        Step::Mount(mount) => vec![Before::NotMounted(mount.point.clone())],
        Step::MakeDir(MakeDir { path, .. }) => {
            let is_missing = |dir: &&Path| matches!(effects.stat(dir), Ok(None));
            let missing = path.ancestors().take_while(is_missing);
            let mut missing: Vec<&Path> = missing.collect();
            missing.reverse();
            missing
                .into_iter()
                .map(|dir| Before::NoDirectory(dir.to_owned()))
                .collect()
        }
        _ => Vec::new(),
    })
}

/// Returns the number in a file. For a whole pool, also each node's number, because the kernel
/// would divide a restored total anew.
fn numbers(write: &Write, machine: &Machine, root: &Root) -> Result<Vec<Before>, Failure> {
    let mut files = Vec::new();
    let mut pages = None;
    if let NumberKind::Pages(of) = &write.kind {
        pages = Some(of.size.get());
        let nodes = machine
            .nodes
            .iter()
            .filter(|node| node.pool(of.size).is_some());
        let nodes = nodes.filter(|_| of.node.is_none());
        files.extend(nodes.map(|node| node_pool_path(node.id, of.size)));
    }
    files.push(write.path.clone());
    let before = |path: &KPath| {
        Ok(Before::Number {
            path: path.to_string(),
            number: number(path, root)?,
            pages,
        })
    };
    files.iter().map(before).collect()
}

fn restore(before: &Before, machine: &Machine) -> Option<Step> {
    Some(match before {
        Before::Number {
            path,
            number,
            pages,
        } => Step::Write(Write {
            path: KPath::recorded(path)?,
            value: Value::Plain(*number),
            kind: number_kind(*pages, machine),
        }),
        Before::Word { path, word } => Step::SelectWord(SelectWord {
            path: KPath::recorded(path)?,
            word: word.clone(),
        }),
        Before::Owner {
            path,
            uid,
            gid,
            mode,
        } => Step::SetOwner(SetOwner {
            point: path.clone(),
            owner: Owner {
                uid: *uid,
                gid: *gid,
                mode: *mode,
            },
        }),
        Before::NotMounted(point) => Step::Unmount(point.clone()),
        Before::NoDirectory(path) => Step::RemoveDir(path.clone()),
    })
}

fn number_kind(pages: Option<u64>, machine: &Machine) -> NumberKind {
    let size = pages.and_then(hugetools_model::PageSize::new);
    size.map_or(NumberKind::Setting, |size| {
        NumberKind::Pages(Pages {
            size,
            node: None,
            gigantic: is_gigantic(machine, size),
            effort: Some(Effort {
                compact: KPath::from("/proc/sys/vm/compact_memory"),
                hard: false,
                time: std::time::Duration::ZERO,
            }),
        })
    })
}
