//! The state of files and mount points before an apply, and the steps that restore it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hugetools_model::hugetlb::node::{Node, node_pool_path};
use hugetools_model::{KPath, Machine, PageSize, Root, thp};
use serde::{Deserialize, Serialize};

use crate::apply::numbers::number;
use crate::effects::Effects;
use crate::plan::Plan;
use crate::report::Failure;
use crate::request::boot::kernel::is_gigantic;
use crate::step::{
    Effort, MakeDir, NumberKind, Owner, Pages, SelectWord, SetOwner, Step, Value, Write,
};

/// The state of one file or mount point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PriorState {
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

impl PriorState {
    /// Identifies the state: a path can have an owner, a mount and a directory to restore.
    pub(super) fn key(&self) -> (u8, &Path) {
        match self {
            PriorState::Number { path, .. } | PriorState::Word { path, .. } => (0, Path::new(path)),
            PriorState::Owner { path, .. } => (1, path),
            PriorState::NotMounted(path) => (2, path),
            PriorState::NoDirectory(path) => (3, path),
        }
    }

    /// Returns the bytes that the restored pool gains; negative if it shrinks. `None` for
    /// other files, and for a whole pool if its nodes' pools count instead.
    pub(super) fn restore_bytes(&self, machine: &Machine) -> Option<i128> {
        let PriorState::Number {
            path,
            number,
            pages,
        } = self
        else {
            return None;
        };
        let size = PageSize::new((*pages)?)?;
        let node_pool =
            |node: &Node| Some((node_pool_path(node.id, size), node.pool(size)?.minimum()));
        let node_pools: Vec<_> = machine.nodes.iter().filter_map(node_pool).collect();
        let now = match node_pools.iter().find(|(pool, _)| pool.as_str() == path) {
            Some((_, now)) => *now,
            None if node_pools.is_empty() => machine.pool(size)?.minimum(),
            None => return None,
        };
        let more = i128::from(*number) - i128::from(now.get());
        Some(more * i128::from(size.get()))
    }

    /// Returns the step that restores the state; `None` if the path is not a kernel setting.
    pub(super) fn restore(&self, machine: &Machine) -> Option<Step> {
        Some(match self {
            PriorState::Number {
                path,
                number,
                pages,
            } => Step::Write(Write {
                path: KPath::recorded(path)?,
                value: Value::Plain(*number),
                kind: number_kind(*pages, machine),
            }),
            PriorState::Word { path, word } => Step::SelectWord(SelectWord {
                path: KPath::recorded(path)?,
                word: word.clone(),
            }),
            PriorState::Owner {
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
            PriorState::NotMounted(point) => Step::Unmount(point.clone()),
            PriorState::NoDirectory(path) => Step::RemoveDir(path.clone()),
        })
    }
}

/// Reads the current state of everything that a plan changes.
pub(super) fn read_states(
    plan: &Plan,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Vec<PriorState>, Failure> {
    let machine = Machine::read(root)?;
    let mut all = Vec::new();
    for step in plan.tasks.iter().flat_map(|task| &task.steps) {
        all.extend(states_of_step(step, &machine, root, effects)?);
    }
    Ok(all)
}

fn states_of_step(
    step: &Step,
    machine: &Machine,
    root: &Root,
    effects: &mut dyn Effects,
) -> Result<Vec<PriorState>, Failure> {
    Ok(match step {
        _ if step.is_skipped_on(root) => Vec::new(),
        Step::Write(write) => read_numbers(write, machine, root)?,
        Step::SelectWord(SelectWord { path, .. }) => vec![PriorState::Word {
            path: path.to_string(),
            word: thp::marked(path, &root.read(path)?)?,
        }],
        Step::SetOwner(SetOwner { point, .. }) => {
            let found = effects.stat(point).ok().flatten();
            let before = found.map(|found| PriorState::Owner {
                path: point.clone(),
                uid: found.owner.uid,
                gid: found.owner.gid,
                mode: found.owner.mode,
            });
            before.into_iter().collect()
        }
        Step::Mount(mount) if machine.mounts.iter().any(|it| it.point == mount.point) => Vec::new(),
        Step::Mount(mount) => vec![PriorState::NotMounted(mount.point.clone())],
        Step::MakeDir(MakeDir { path, .. }) => {
            let is_missing = |dir: &&Path| matches!(effects.stat(dir), Ok(None));
            let missing = path.ancestors().take_while(is_missing);
            let mut missing: Vec<&Path> = missing.collect();
            missing.reverse();
            missing
                .into_iter()
                .map(|dir| PriorState::NoDirectory(dir.to_owned()))
                .collect()
        }
        _ => Vec::new(),
    })
}

/// Reads the number in a file. A whole pool adds each node's number, because the kernel would
/// divide a restored total evenly.
fn read_numbers(write: &Write, machine: &Machine, root: &Root) -> Result<Vec<PriorState>, Failure> {
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
        Ok(PriorState::Number {
            path: path.to_string(),
            number: number(path, root)?,
            pages,
        })
    };
    files.iter().map(before).collect()
}

fn number_kind(pages: Option<u64>, machine: &Machine) -> NumberKind {
    let size = pages.and_then(PageSize::new);
    size.map_or(NumberKind::Setting, |size| {
        NumberKind::Pages(Pages {
            size,
            node: None,
            gigantic: is_gigantic(machine, size),
            effort: Some(Effort {
                compact: KPath::from("/proc/sys/vm/compact_memory"),
                hard: false,
                time: Duration::ZERO,
            }),
        })
    })
}
