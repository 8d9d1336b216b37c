//! `--set-recommended-min_free_kbytes`, `--set-recommended-shmmax`,
//! `--set-shm-group`, `--set-userfaultfd-group`.

use hugetools_model::machine::NONE_OFFERED;
use hugetools_model::memory::{sysctl, userfault};
use hugetools_model::{KPath, Machine};

use super::{Plan, Task};
use crate::recommend;
use crate::request::Request;
use crate::step::{Owner, SetOwner, Step, Value};

pub(super) fn plan(machine: &Machine, request: &Request, plan: &mut Plan) {
    if let Some(option) = &request.min_free {
        let step = match recommend::min_free_kbytes(machine) {
            Some(kilobytes) => raise(sysctl::min_free_path(), kilobytes),
            None => Step::impossible(
                sysctl::min_free_path().to_string(),
                "there is no recommendation without huge pages",
                NONE_OFFERED,
            ),
        };
        plan.tasks.push(Task::new(option, vec![step]));
    }
    if let Some(option) = &request.shmmax {
        let bytes = recommend::shmmax(machine, |pool| request.maximum_after(machine, pool));
        if bytes == 0 {
            let note = format!("{option}: no pool may have pages, so there is no recommendation");
            plan.notes.push(note);
        }
        let step = raise(sysctl::shmmax_path(), bytes);
        plan.tasks.push(Task::new(option, vec![step]));
    }
    if let Some(group) = &request.shm_group {
        let step = Step::write(sysctl::shm_group_path(), Value::Plain(u64::from(group.gid)));
        plan.tasks.push(Task::new(&group.option, vec![step]));
    }
    if let Some(group) = &request.userfaultfd_group {
        let step = give_userfaultfd(machine, group.gid);
        plan.tasks.push(Task::new(&group.option, vec![step]));
    }
}

/// Gives /dev/userfaultfd to a group.
fn give_userfaultfd(machine: &Machine, gid: u32) -> Step {
    match machine.userfault.device {
        true => Step::SetOwner(SetOwner {
            point: userfault::DEVICE.into(),
            owner: Owner {
                uid: 0,
                gid,
                mode: 0o660,
            },
        }),
        false => Step::impossible(
            userfault::DEVICE,
            "this kernel lacks it (Linux 6.1, CONFIG_USERFAULTFD)",
            "on Linux 5.19 and 6.0, vm.unprivileged_userfaultfd = 1 permits it to everybody; older \
             kernels cannot move pool pages while threads run",
        ),
    }
}

/// Raises a value. Recommendations never lower one.
fn raise(path: KPath, to: u64) -> Step {
    Step::write(path, Value::AtLeast(to))
}
