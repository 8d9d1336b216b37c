//! `--pid`: collapses the memory of running programs into transparent huge pages.
//!
//! ```text
//! memory --plan(room)--> steps --apply(pace)--> memory again --> report
//! ```
//!
//! The kernel collapses by `process_madvise(2)` with `MADV_COLLAPSE`. Contents, addresses and
//! permissions stay. Page faults of the program block while the kernel copies a huge page, so each
//! call covers few huge pages, and a pause follows.

mod apply;
mod memory;
mod obstacle;
mod pace;
mod pagemap;
mod plan;
mod reason;
mod report;
mod room;

use std::collections::BTreeSet;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use hugetools_model::Root;
use hugetools_model::process::Pid;
use hugetools_model::root::error::describe_errno;

use crate::request::Adopt;
use crate::say::failure::Failure;
use crate::sys::clock::cpu_time;
use crate::sys::collapse::{collapse, open_pidfd};
use apply::Outcome;
use memory::Memory;
use plan::Plan;

pub use apply::Progress;
pub use pace::Pace;
pub use report::Adopted;

/// Collapses the memory of a process.
///
/// # Errors
/// The process doesn't exist, may not be inspected or changed, or the kernel cannot collapse.
pub fn adopt(
    root: &Root,
    pid: Pid,
    wish: &Adopt,
    pace: &mut Pace,
    progress: &mut dyn FnMut(Progress),
) -> Result<Adopted, Failure> {
    let (start, cpu) = (Instant::now(), cpu_time());
    let process = open(pid)?;
    let before = Memory::read(root, pid, &wish.segments)?;
    // Reading `smaps` costs CPU time, too.
    pace.keep();
    let plan = plan::plan(&before, &room::room(root, pid), wish.touched);
    let mut collapse = |range: &Range<u64>| collapse(process.as_fd(), range);
    let mut outcome = apply::apply(root, pid, &plan, pace, &mut collapse, progress);
    outcome.left.extend(plan.left);
    let after = Memory::read(root, pid, &wish.segments).ok();
    pace.keep();
    Ok(Adopted {
        seconds: Some(start.elapsed().as_secs_f64()),
        cpu_seconds: Some(cpu_time().saturating_sub(cpu).as_secs_f64()),
        ..report::adopted(pid, &before, after.as_ref(), &outcome)
    })
}

/// Checks that a process exists and may be changed.
///
/// # Errors
/// Names the obstacle and the remedy.
pub fn check(pid: Pid) -> Result<(), Failure> {
    open(pid).map(drop)
}

/// Predicts the result of [`adopt`] if every step succeeds.
///
/// # Errors
/// The process doesn't exist or may not be inspected.
pub fn predict(root: &Root, pid: Pid, wish: &Adopt) -> Result<Adopted, Failure> {
    let before = Memory::read(root, pid, &wish.segments)?;
    let plan = plan::plan(&before, &room::room(root, pid), wish.touched);
    let after = predicted(&before, &plan);
    let outcome = Outcome {
        collapsed: plan.steps.iter().map(plan::Step::size).sum(),
        left: plan.left,
    };
    Ok(report::adopted(pid, &before, Some(&after), &outcome))
}

fn predicted(before: &Memory, plan: &Plan) -> Memory {
    let mut after = before.clone();
    let steps: BTreeSet<u64> = plan.steps.iter().map(|step| step.range.start).collect();
    for area in &mut after.areas {
        let planned = area.units.iter().filter(|unit| steps.contains(&unit.start));
        let (mut huge, mut growth) = (0, 0);
        for unit in planned {
            huge += before.size;
            growth += before.size.saturating_sub(unit.present);
        }
        area.resident += growth;
        // Steps include units that are huge already.
        let known = area.huge.get(&before.size).copied().unwrap_or(0);
        if huge > known {
            area.huge.insert(before.size, huge.min(area.resident));
        }
    }
    after
}

/// Opens the process and checks that it may be changed.
fn open(pid: Pid) -> Result<OwnedFd, Failure> {
    let process = open_pidfd(pid.get()).map_err(|error| match error.raw_os_error() {
        Some(libc::ESRCH) => Failure::Own(format!("there is no process {pid}")),
        Some(libc::EINVAL) => Failure::Own(format!(
            "{pid} is the number of a thread: give that of its process"
        )),
        _ => refused(pid, &error),
    })?;
    match collapse(process.as_fd(), &(0..0)) {
        Ok(()) => Ok(process),
        Err(error) => Err(refused(pid, &error)),
    }
}

fn refused(pid: Pid, error: &io::Error) -> Failure {
    let why = match error.raw_os_error().unwrap_or(0) {
        libc::ENOSYS | libc::EINVAL => {
            return Failure::Own(
                "this kernel cannot collapse another process's memory: Linux 6.1 and later can\n  \
                 start the program under hugectl instead, such as with --heap"
                    .to_owned(),
            );
        }
        libc::ESRCH => "it has no memory of its own: it is a kernel thread, or has ended",
        libc::EPERM => {
            "its memory may not be changed: CAP_SYS_NICE is missing (EPERM)\n  run this as root, or \
             have a copy of hugectl for --pid alone, since programs that it starts would lose \
             variables:\n  cp hugectl hugectl-pid && setcap cap_sys_nice,cap_sys_ptrace+ep \
             hugectl-pid"
        }
        libc::EACCES => {
            "its memory may not be read: CAP_SYS_PTRACE is missing (EACCES)\n  run this as root; \
             for a process in a container, inside it or on the host"
        }
        errno => &describe_errno(errno),
    };
    Failure::Own(format!("process {pid}: {why}"))
}
