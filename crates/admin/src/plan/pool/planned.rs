//! The planned state of a pool, and steps to the next state.

use std::collections::BTreeMap;

use hugetools_model::hugetlb::node::{NodeId, node_compact_path, node_pool_path};
use hugetools_model::hugetlb::pool::{
    NR_HUGEPAGES, NR_HUGEPAGES_MEMPOLICY, NR_OVERCOMMIT_HUGEPAGES, Pool, counter_path,
};
use hugetools_model::{KPath, Machine, PageCount};

use crate::args::Pools;
use crate::request::boot::kernel::is_gigantic;
use crate::request::{Change, Wish};
use crate::step::{Effort, NumberKind, Pages, Step, Value, Write};

/// The state of a pool after all steps so far, if they succeed.
pub(super) struct Planned<'a> {
    machine: &'a Machine,
    pool: &'a Pool,
    growth: &'a Pools,
    minimum: PageCount,
    /// `None` if this size has no overcommit.
    overcommit: Option<PageCount>,
    written: Written,
    /// The effort of the current change.
    pub(super) wish: Wish,
    notes: Vec<String>,
}

/// The files that earlier steps wrote. Reading them gives the pages obtained.
enum Written {
    Nothing,
    Whole,
    /// The nodes and their requested pages.
    Nodes(BTreeMap<NodeId, PageCount>),
}

impl<'a> Planned<'a> {
    pub(super) fn new(machine: &'a Machine, pool: &'a Pool, growth: &'a Pools) -> Planned<'a> {
        Planned {
            machine,
            pool,
            growth,
            minimum: pool.minimum(),
            overcommit: pool.overcommit,
            written: Written::Nothing,
            wish: Wish::default(),
            notes: Vec::new(),
        }
    }

    pub(super) fn pool(&self) -> &'a Pool {
        self.pool
    }

    pub(super) fn minimum(&self) -> PageCount {
        self.minimum
    }

    /// Returns the planned pages of a node, if a change names it.
    pub(super) fn node(&self, id: NodeId) -> Option<PageCount> {
        match &self.written {
            Written::Nodes(nodes) => nodes.get(&id).copied(),
            Written::Nothing | Written::Whole => None,
        }
    }

    pub(super) fn maximum(&self) -> PageCount {
        let overcommit = self.overcommit.unwrap_or_default();
        self.minimum
            .checked_add(overcommit)
            .unwrap_or(PageCount::new(u64::MAX))
    }

    pub(super) fn take_notes(&mut self) -> impl Iterator<Item = String> + use<> {
        std::mem::take(&mut self.notes).into_iter()
    }

    /// Returns the number of pages after a change. Warns if it would be negative.
    fn after(&mut self, change: Change, before: PageCount, of: &str) -> PageCount {
        if let Change::Remove(fewer) = change {
            if fewer > before {
                let before = before.with_noun();
                let note = format!("{of} has only {before}, so none remain");
                self.notes.push(note);
            }
        }
        change.of(before)
    }

    /// Returns the overcommit that preserves the maximum with another minimum.
    fn overcommit_for(&self, minimum: PageCount) -> Option<PageCount> {
        self.overcommit?;
        Some(self.maximum().saturating_sub(minimum))
    }

    pub(super) fn whole_minimum(&mut self, change: Change) -> Vec<Step> {
        let minimum = self.after(change, self.minimum, "the pool");
        let overcommit = self.overcommit_for(minimum);
        let mut steps = self.raise_overcommit(overcommit);
        steps.push(self.write_whole(minimum));
        self.finish(minimum, overcommit, &mut steps);
        steps
    }

    /// Shrinks the pool to the pages in use, without overcommit.
    pub(super) fn clear(&mut self) -> Vec<Step> {
        let mut steps = Vec::new();
        if self.overcommit.is_some_and(|pages| pages > PageCount::ZERO) {
            steps.push(self.write_overcommit(Value::Plain(0), false));
            self.overcommit = Some(PageCount::ZERO);
        }
        let used = self.pool.total.saturating_sub(self.pool.available());
        self.minimum = self.minimum.min(used);
        self.written = Written::Whole;
        let size = self.pool.size;
        steps.push(self.write_pages(self.whole_file(), None, None, Value::AtMostUsed(size)));
        steps
    }

    pub(super) fn node_minimums(&mut self, changes: &[(NodeId, Change)]) -> Vec<Step> {
        let mut nodes = match std::mem::replace(&mut self.written, Written::Nothing) {
            Written::Nodes(nodes) => nodes,
            _ => BTreeMap::new(),
        };
        let mut minimum = self.minimum;
        let mut writes = Vec::new();
        for &(id, change) in changes {
            let before = match nodes.get(&id) {
                Some(planned) => *planned,
                None => self.share(id),
            };
            let after = self.after(change, before, &format!("node {id}"));
            minimum = minimum
                .saturating_sub(before)
                .checked_add(after)
                .unwrap_or(minimum);
            nodes.insert(id, after);
            writes.push(self.write_node(id, after > before, after));
        }
        let overcommit = self.overcommit_for(minimum);
        let mut steps = self.raise_overcommit(overcommit);
        steps.append(&mut writes);
        self.written = Written::Nodes(nodes);
        self.finish(minimum, overcommit, &mut steps);
        steps
    }

    pub(super) fn whole_maximum(&mut self, change: Change) -> Vec<Step> {
        let maximum = self.after(change, self.maximum(), "the pool");
        if maximum > self.minimum && self.overcommit.is_none() {
            return vec![self.no_overcommit()];
        }
        if maximum < self.minimum || self.overcommit.is_none() {
            let mut steps = vec![self.write_whole(maximum)];
            let overcommit = self.overcommit.map(|_| PageCount::ZERO);
            self.finish(maximum, overcommit, &mut steps);
            return steps;
        }
        let overcommit = maximum.saturating_sub(self.minimum);
        self.overcommit = Some(overcommit);
        vec![self.write_overcommit(self.overcommit_value(overcommit), true)]
    }

    /// Raises the overcommit before pages are removed.
    fn raise_overcommit(&self, overcommit: Option<PageCount>) -> Vec<Step> {
        match overcommit {
            Some(more) if self.overcommit < overcommit => {
                vec![self.write_overcommit(Value::Plain(more.get()), false)]
            }
            _ => Vec::new(),
        }
    }

    /// Records the new state. Sets the overcommit to match the pages obtained.
    fn finish(&mut self, minimum: PageCount, overcommit: Option<PageCount>, steps: &mut Vec<Step>) {
        let same = (minimum, overcommit) == (self.minimum, self.overcommit);
        self.minimum = minimum;
        self.overcommit = overcommit;
        if let (Some(overcommit), false) = (overcommit, same) {
            let value = self.overcommit_value(overcommit);
            steps.push(self.write_overcommit(value, false));
        }
    }

    /// Returns the planned overcommit plus the pages that earlier steps requested but didn't get.
    fn overcommit_value(&self, overcommit: PageCount) -> Value {
        let size = self.pool.size;
        let total = |asked: &mut dyn Iterator<Item = PageCount>| {
            asked.fold(overcommit.get(), |sum, one| sum.saturating_add(one.get()))
        };
        match &self.written {
            Written::Nothing => Value::Plain(overcommit.get()),
            Written::Whole => Value::Remainder {
                total: total(&mut std::iter::once(self.minimum)),
                minus: vec![self.whole_file()],
            },
            Written::Nodes(nodes) => Value::Remainder {
                total: total(&mut nodes.values().copied()),
                minus: nodes.keys().map(|id| node_pool_path(*id, size)).collect(),
            },
        }
    }

    /// Returns the pages of a node before its first change. `--clear` leaves those in use.
    fn share(&self, id: NodeId) -> PageCount {
        let node = self.machine.node(id);
        let Some(share) = node.and_then(|node| node.pool(self.pool.size)) else {
            return PageCount::ZERO;
        };
        match self.growth.clear {
            true => share.minimum().min(share.total.saturating_sub(share.free)),
            false => share.minimum(),
        }
    }

    fn whole_file(&self) -> KPath {
        let policy = self.growth.obey_mempolicy && self.machine.mempolicy.contains(&self.pool.size);
        let file = match policy {
            true => NR_HUGEPAGES_MEMPOLICY,
            false => NR_HUGEPAGES,
        };
        counter_path(self.pool, file)
    }

    fn write_whole(&mut self, pages: PageCount) -> Step {
        let (file, size) = (self.whole_file(), self.pool.size);
        if self.growth.obey_mempolicy && !self.machine.mempolicy.contains(&size) {
            let note = "this kernel doesn't support memory policies (CONFIG_NUMA), so the policy is ignored";
            self.notes.push(note.to_owned());
        }
        self.written = Written::Whole;
        let compact = KPath::from("/proc/sys/vm/compact_memory");
        let effort = self.effort(pages > self.minimum, compact);
        self.write_pages(file, None, effort, Value::Plain(pages.get()))
    }

    fn write_node(&self, id: NodeId, grows: bool, pages: PageCount) -> Step {
        let effort = self.effort(grows, node_compact_path(id));
        let value = Value::Plain(pages.get());
        let path = node_pool_path(id, self.pool.size);
        self.write_pages(path, Some(id), effort, value)
    }

    fn effort(&self, grows: bool, compact: KPath) -> Option<Effort> {
        let hard = self.growth.hard || self.wish.hard;
        let time = self.wish.time;
        grows.then_some(Effort {
            compact,
            hard,
            time,
        })
    }

    fn write_pages(
        &self,
        path: KPath,
        node: Option<NodeId>,
        effort: Option<Effort>,
        value: Value,
    ) -> Step {
        Step::Write(Write {
            path,
            value,
            kind: NumberKind::Pages(Pages {
                size: self.pool.size,
                node,
                gigantic: is_gigantic(self.machine, self.pool.size),
                effort,
            }),
        })
    }

    fn write_overcommit(&self, value: Value, is_limit: bool) -> Step {
        Step::Write(Write {
            path: self.overcommit_file(),
            value,
            kind: NumberKind::Overcommit {
                size: self.pool.size,
                is_limit,
            },
        })
    }

    /// Gigantic sizes have an overcommit file, but before Linux 6.19 the kernel refuses
    /// writes to it.
    fn no_overcommit(&self) -> Step {
        Step::impossible(
            self.overcommit_file().to_string(),
            "gigantic pages have no overcommit before Linux 6.19",
            format!(
                "set the minimum instead with --pool-pages-min {}:AMOUNT",
                self.pool.size
            ),
        )
    }

    fn overcommit_file(&self) -> KPath {
        counter_path(self.pool, NR_OVERCOMMIT_HUGEPAGES)
    }
}
