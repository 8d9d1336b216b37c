//! Cleans up after a killed run, before all other tasks.

use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::{Bytes, Machine, PageCount};

use super::pool::overcommit_file;
use super::{Maximum, Plan, Task, When};
use crate::step::unfinished::Unfinished;
use crate::step::{Number, Step, Swap, Value, What, Write};

const OPTION: &str = "cleanup after a killed run";

/// Plans the cleanup, and returns the machine in the state after it.
pub(super) fn plan(machine: &Machine, unfinished: &Unfinished, plan: &mut Plan) -> Machine {
    let mut machine = machine.clone();
    for swap in &unfinished.swaps {
        let device = swap.starts_with("/dev");
        let swap = Swap {
            path: swap.clone(),
            size: (!device).then_some(Bytes::new(0)),
            stays: false,
        };
        let note = format!("a killed run left {} in use as swap", swap.path.display());
        plan.notes.push(format!("{note}; it is removed now"));
        plan.tasks
            .push(always(Step::SwapOff(swap), Maximum::Untouched));
    }
    for (size, maximum) in &unfinished.maximums {
        let pool = machine.pools.iter_mut().find(|pool| pool.size == *size);
        let overcommit = |pool: &Pool| maximum.saturating_sub(pool.minimum());
        let changed = |pool: &&mut Pool| {
            pool.overcommit
                .is_some_and(|found| found != overcommit(pool))
        };
        let Some(pool) = pool.filter(changed) else {
            plan.unfinished.maximums.remove(size);
            continue;
        };
        let note = format!("a killed run left the pool of {size} half changed");
        plan.notes
            .push(format!("{note}; its maximum is restored to {maximum}"));
        plan.tasks
            .push(always(restore(pool, *maximum), Maximum::Restored(*size)));
        pool.overcommit = Some(overcommit(pool));
    }
    machine
}

fn always(step: Step, maximum: Maximum) -> Task {
    Task {
        when: When::Always,
        maximum,
        ..Task::new(OPTION, vec![step])
    }
}

fn restore(pool: &Pool, maximum: PageCount) -> Step {
    let overcommit = maximum.saturating_sub(pool.minimum());
    Step::Write(Write {
        file: Number {
            path: overcommit_file(pool),
            surplus: None,
        },
        value: Value::Plain(overcommit.get()),
        what: What::Overcommit {
            size: pool.size,
            is_limit: false,
        },
        refused: None,
    })
}
