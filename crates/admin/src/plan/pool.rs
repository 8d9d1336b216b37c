//! `--clear`, `--pool-pages-min`, `--pool-spread`, `--pool-pages-max`.
//!
//! The *minimum* of a pool is its number of persistent pages. The *maximum* is the minimum plus the
//! overcommit, the number of surplus pages that the kernel may allocate on demand. The kernel has
//! files for minimum and overcommit. A change of the minimum preserves the maximum where possible:
//! the overcommit is set to the maximum minus the pages obtained. Before a pool shrinks, the
//! overcommit is raised, so that the maximum is never lower in between.

pub(crate) mod margin;
mod planned;

use std::collections::BTreeMap;

use hugetools_model::{Machine, PageSize};

use self::planned::Planned;
use super::{Plan, Task, swap};
use crate::args::Pools;
use crate::request::{Place, PoolChange, Request};
use crate::step::{NumberKind, Step};

pub(super) fn plan(machine: &Machine, request: &Request, plan: &mut Plan) {
    let mut pools: BTreeMap<PageSize, Planned> = machine
        .pools
        .iter()
        .map(|pool| (pool.size, Planned::new(machine, pool, &request.growth)))
        .collect();
    for planned in pools.values_mut().filter(|_| request.growth.clear) {
        plan.tasks.push(Task::new("--clear", planned.clear()));
    }
    let mut swap_number = request.swap_number;
    for change in &request.pool_min {
        let Some(planned) = pools.get_mut(&change.size) else {
            continue;
        };
        planned.wish = change.wish;
        let steps = match &change.place {
            Place::Whole(to) => planned.whole_minimum(*to),
            Place::Nodes(nodes) => planned.node_minimums(nodes),
        };
        let growth = match steps.iter().any(grows) {
            true => request.growth.clone(),
            false => Pools::default(),
        };
        let (first, last) = swap::around(machine, &growth, planned.pool(), &mut swap_number);
        plan.tasks.extend(first);
        add_task(plan, change, planned, steps);
        plan.tasks.extend(last);
    }
    plan.refusal = margin::refusal(machine, request, pools.values());
    for change in &request.pool_max {
        if let (Some(planned), Place::Whole(to)) = (pools.get_mut(&change.size), &change.place) {
            let steps = planned.whole_maximum(*to);
            add_task(plan, change, planned, steps);
        }
    }
    if plan.refusal.is_none() {
        plan.refusal = margin::beyond_memory(machine, request, pools.values());
    }
}

/// Whether a step may have to search for pages.
fn grows(step: &Step) -> bool {
    let Step::Write(write) = step else {
        return false;
    };
    matches!(&write.kind, NumberKind::Pages(pages) if pages.effort.is_some())
}

fn add_task(plan: &mut Plan, change: &PoolChange, planned: &mut Planned, steps: Vec<Step>) {
    let option = &change.option;
    let notes = planned.take_notes();
    plan.notes
        .extend(notes.map(|note| format!("{option}: {note}")));
    let mut task = Task::new(option, steps);
    task.optional = change.wish.optional;
    plan.tasks.push(task);
}
