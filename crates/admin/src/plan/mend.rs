//! What a run that was killed left half done: put back before anything else.

use hugetools_model::pool::Pool;
use hugetools_model::{Bytes, Machine, PageCount};

use super::pool::overcommit_file;
use super::{Number, Plan, Step, Swap, Task, Value, What, When, Write};
use crate::unfinished::Unfinished;

const OPTION: &str = "what a killed run left";

/// Plans it, and returns the machine as it will be.
pub(super) fn plan(machine: &Machine, unfinished: &Unfinished, plan: &mut Plan) -> Machine {
    let mut machine = machine.clone();
    for swap in &unfinished.swaps {
        let device = swap.starts_with("/dev");
        let swap = Swap {
            path: swap.clone(),
            size: (!device).then_some(Bytes::new(0)),
            stays: false,
        };
        let note = format!("{} is left of a run that was killed", swap.path.display());
        plan.notes.push(format!("{note}; it is taken back"));
        plan.tasks.push(always(Step::SwapOff(swap)));
    }
    for (size, maximum) in &unfinished.maximums {
        let Some(pool) = machine.pools.iter_mut().find(|pool| pool.size == *size) else {
            continue;
        };
        let overcommit = maximum.saturating_sub(pool.minimum());
        if pool.overcommit.is_none_or(|found| found == overcommit) {
            continue;
        }
        let note = format!("the pool of {size} is left half changed by a run that was killed");
        plan.notes
            .push(format!("{note}; its maximum becomes {maximum} again"));
        plan.tasks.push(always(restore(pool, *maximum)));
        pool.overcommit = Some(overcommit);
    }
    machine
}

fn always(step: Step) -> Task {
    Task {
        when: When::Always,
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
        what: What::Overcommit { size: pool.size },
        refused: None,
    })
}
