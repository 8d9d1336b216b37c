//! `--pool-pages-min`, `--pool-pages-max`.
//!
//! A pool keeps its *minimum*, the persistent pages, and may grow on demand
//! to its *maximum*, which is the minimum and the overcommit. The kernel has
//! files for minimum and overcommit. A change of the minimum preserves the
//! maximum where it can: the overcommit becomes the maximum less the pages
//! that were obtained, and is raised before the pool shrinks, so that nobody
//! finds less than was promised in between.

use std::collections::BTreeMap;

use hugetools_model::node::{NodeId, node_pool_path, node_surplus_path};
use hugetools_model::pool::{Counter, Pool, counter_path, surplus_path};
use hugetools_model::{Machine, PageCount, PageSize};

use super::{Number, Plan, Step, Task, Value, What, Write};
use crate::request::{Change, Place, PoolChange, Request};

/// The kernel has the file of a gigantic size's overcommit, but no overcommit.
const NO_OVERCOMMIT: &str = "gigantic pages have no overcommit before Linux 6.19";

/// What a pool will be when the steps so far have reached their aims.
struct Planned<'a> {
    machine: &'a Machine,
    pool: &'a Pool,
    minimum: PageCount,
    /// `None` where the size has none.
    overcommit: Option<PageCount>,
    written: Written,
    notes: Vec<String>,
}

/// Which files earlier steps wrote, so what they got can be read there.
enum Written {
    Nothing,
    Whole,
    /// The nodes and their aims.
    Nodes(BTreeMap<NodeId, PageCount>),
}

pub(super) fn plan(machine: &Machine, request: &Request, plan: &mut Plan) {
    let mut pools: BTreeMap<PageSize, Planned> = machine
        .pools
        .iter()
        .map(|pool| (pool.size, Planned::new(machine, pool)))
        .collect();
    for change in &request.pool_min {
        if let Some(planned) = pools.get_mut(&change.size) {
            let steps = match &change.place {
                Place::Whole(to) => planned.whole_minimum(*to),
                Place::Nodes(nodes) => planned.node_minimums(nodes),
            };
            finish(plan, change, planned, steps);
        }
    }
    for change in &request.pool_max {
        if let (Some(planned), Place::Whole(to)) = (pools.get_mut(&change.size), &change.place) {
            let steps = planned.whole_maximum(*to);
            finish(plan, change, planned, steps);
        }
    }
}

fn finish(plan: &mut Plan, change: &PoolChange, planned: &mut Planned, steps: Vec<Step>) {
    let option = &change.option;
    let notes = planned.notes.drain(..);
    plan.notes
        .extend(notes.map(|note| format!("{option}: {note}")));
    plan.tasks.push(Task {
        option: option.clone(),
        steps,
    });
}

impl<'a> Planned<'a> {
    fn new(machine: &'a Machine, pool: &'a Pool) -> Planned<'a> {
        Planned {
            machine,
            pool,
            minimum: pool.minimum(),
            overcommit: pool.overcommit,
            written: Written::Nothing,
            notes: Vec::new(),
        }
    }

    /// The number of pages after a change; there is nothing below none.
    fn after(&mut self, change: Change, before: PageCount, of: &str) -> PageCount {
        if let Change::Down(fewer) = change {
            if fewer > before {
                let note = format!("{of} has only {before} pages, so none is left");
                self.notes.push(note);
            }
        }
        change.of(before)
    }

    /// The overcommit that preserves the maximum under another minimum.
    fn overcommit_for(&self, minimum: PageCount) -> Option<PageCount> {
        let overcommit = self.overcommit?;
        let maximum = self.minimum.checked_add(overcommit).unwrap_or(minimum);
        Some(maximum.saturating_sub(minimum))
    }

    fn whole_minimum(&mut self, change: Change) -> Vec<Step> {
        let minimum = self.after(change, self.minimum, "the pool");
        let overcommit = self.overcommit_for(minimum);
        let mut steps = self.raise(overcommit);
        steps.push(self.write_whole(minimum));
        self.settle(minimum, overcommit, &mut steps);
        steps
    }

    fn node_minimums(&mut self, changes: &[(NodeId, Change)]) -> Vec<Step> {
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
            writes.push(self.write_node(id, after));
        }
        let overcommit = self.overcommit_for(minimum);
        let mut steps = self.raise(overcommit);
        steps.append(&mut writes);
        self.written = Written::Nodes(nodes);
        self.settle(minimum, overcommit, &mut steps);
        steps
    }

    fn whole_maximum(&mut self, change: Change) -> Vec<Step> {
        let before = self.overcommit.unwrap_or(PageCount::ZERO);
        let before = self.minimum.checked_add(before).unwrap_or(self.minimum);
        let maximum = self.after(change, before, "the pool");
        let mut steps = Vec::new();
        if maximum < self.minimum {
            steps.push(self.write_whole(maximum));
            let overcommit = self.overcommit.map(|_| PageCount::ZERO);
            self.settle(maximum, overcommit, &mut steps);
            return steps;
        }
        let overcommit = maximum.saturating_sub(self.minimum);
        if self.overcommit.is_none() && overcommit == PageCount::ZERO {
            steps.push(self.write_whole(self.minimum));
            return steps;
        }
        let refused = self.overcommit.is_none().then_some(NO_OVERCOMMIT);
        let value = self.overcommit_value(overcommit);
        steps.push(self.write_overcommit(value, refused));
        if self.overcommit.is_some() {
            self.overcommit = Some(overcommit);
        }
        steps
    }

    /// More overcommit, before pages go.
    fn raise(&self, overcommit: Option<PageCount>) -> Vec<Step> {
        match overcommit {
            Some(more) if self.overcommit < overcommit => {
                vec![self.write_overcommit(Value::Plain(more.get()), None)]
            }
            _ => Vec::new(),
        }
    }

    /// Notes the new state, and lets the overcommit follow what was obtained.
    fn settle(&mut self, minimum: PageCount, overcommit: Option<PageCount>, steps: &mut Vec<Step>) {
        let same = (minimum, overcommit) == (self.minimum, self.overcommit);
        self.minimum = minimum;
        self.overcommit = overcommit;
        if let (Some(overcommit), false) = (overcommit, same) {
            let value = self.overcommit_value(overcommit);
            steps.push(self.write_overcommit(value, None));
        }
    }

    /// The planned overcommit, and the pages that earlier steps aimed at and
    /// did not get.
    fn overcommit_value(&self, overcommit: PageCount) -> Value {
        let aims = |aims: &mut dyn Iterator<Item = PageCount>| {
            aims.fold(overcommit.get(), |sum, aim| sum.saturating_add(aim.get()))
        };
        match &self.written {
            Written::Nothing => Value::Plain(overcommit.get()),
            Written::Whole => Value::Rest {
                of: aims(&mut std::iter::once(self.minimum)),
                less: vec![self.whole_number()],
            },
            Written::Nodes(nodes) => Value::Rest {
                of: aims(&mut nodes.values().copied()),
                less: nodes.keys().map(|id| self.node_number(*id)).collect(),
            },
        }
    }

    fn share(&self, id: NodeId) -> PageCount {
        let node = self.machine.node(id);
        node.and_then(|node| node.pool(self.pool.size))
            .map_or(PageCount::ZERO, |pool| pool.minimum())
    }

    fn whole_number(&self) -> Number {
        Number {
            path: counter_path(self.pool, Counter::NrHugepages),
            surplus: (!self.pool.default).then(|| surplus_path(self.pool.size)),
        }
    }

    fn node_number(&self, id: NodeId) -> Number {
        Number {
            path: node_pool_path(id, self.pool.size),
            surplus: Some(node_surplus_path(id, self.pool.size)),
        }
    }

    fn write_whole(&mut self, pages: PageCount) -> Step {
        self.written = Written::Whole;
        self.write_pages(self.whole_number(), None, true, pages)
    }

    fn write_node(&self, id: NodeId, pages: PageCount) -> Step {
        let node = self.machine.node(id);
        let memory = node.is_none_or(|node| node.total.get() > 0);
        self.write_pages(self.node_number(id), Some(id), memory, pages)
    }

    fn write_pages(
        &self,
        file: Number,
        node: Option<NodeId>,
        memory: bool,
        pages: PageCount,
    ) -> Step {
        Step::Write(Write {
            file,
            value: Value::Plain(pages.get()),
            what: What::Pages {
                size: self.pool.size,
                node,
                gigantic: self.pool.overcommit.is_none(),
                memory,
            },
            refused: None,
        })
    }

    fn write_overcommit(&self, value: Value, refused: Option<&'static str>) -> Step {
        Step::Write(Write {
            file: Number {
                path: counter_path(self.pool, Counter::NrOvercommitHugepages),
                surplus: None,
            },
            value,
            what: What::Overcommit {
                size: self.pool.size,
            },
            refused,
        })
    }
}
