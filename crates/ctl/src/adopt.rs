//! `--pid`: the memory of programs that run already, put on transparent huge pages
//! from outside.
//!
//! ```text
//! memory (look), obstacle --plan--> steps --apply (pace, guard)--> memory again --> report
//! ```
//!
//! The kernel does it by `process_madvise(2)` with `MADV_COLLAPSE`: contents, addresses
//! and rights stay, so that the program sees nothing of it. The program's faults wait while
//! the kernel is at one huge page; a call asks for few, and pauses follow.

mod apply;
pub mod effects;
mod guard;
mod image;
mod memory;
mod obstacle;
mod pace;
mod pagemap;
mod plan;
mod reason;
mod report;

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use hugetools_model::Root;
use hugetools_model::process::Pid;
use hugetools_model::root::error::describe_errno;

use crate::request::Adopt;
use crate::say::failure::Failure;
use apply::Outcome;
use effects::Adopts;
use guard::{Gone, Guard};
use memory::Memory;

pub use apply::Progress;
pub use pace::Pace;
pub use report::{Adopted, document};

/// Puts the memory of a process on huge pages, as far as that can be.
///
/// # Errors
/// When there is no such process, it may not be looked at or changed, or the kernel
/// cannot do it.
pub fn adopt(
    root: &Root,
    effects: &mut dyn Adopts,
    pid: Pid,
    wish: &Adopt,
    pace: &mut Pace,
    progress: &mut dyn FnMut(Progress),
) -> Result<Adopted, Failure> {
    let start = (effects.wall(), effects.cpu());
    let process = open(effects, pid)?;
    let before = Memory::look(root, pid, &wish.segments)?;
    // A look takes time, too, and many processes take many.
    pace.keep(effects);
    let mut guard = Guard::new(root, pid, &process);
    let mut plan = plan::plan(&before.areas, before.size, &guard.room(), wish.touched);
    let mut outcome = Outcome::default();
    let mut after = None;
    for round in 1..=ROUNDS {
        outcome.add(apply::apply(effects, &mut guard, &plan, pace, progress));
        outcome.gone = outcome.gone.or_else(|| guard.gone());
        after = match outcome.gone {
            // Where nothing was to be done a second look would tell the same.
            None if round == 1 && plan.steps.is_empty() => Some(before.clone()),
            None => Memory::look(root, pid, &wish.segments).ok(),
            Some(_) => None,
        };
        pace.keep(effects);
        let Some(now) = &after else {
            outcome.gone.get_or_insert(Gone::Ended);
            break;
        };
        plan = plan::plan(&now.areas, now.size, &guard.room(), wish.touched);
        plan = plan.without(&outcome.left);
        if round == ROUNDS || !is_worth(&plan, now) {
            break;
        }
    }
    let seconds = |from: Duration, to: Duration| to.saturating_sub(from).as_secs_f64();
    let adopted = report::adopted(pid.get(), &before, after.as_ref(), &plan, &outcome);
    Ok(Adopted {
        seconds: Some(seconds(start.0, effects.wall())),
        cpu_seconds: Some(seconds(start.1, effects.cpu())),
        ..adopted
    })
}

/// How often it goes through a process that allocates meanwhile.
const ROUNDS: u32 = 4;

/// Whether so much came meanwhile that it goes through the process once more: a
/// twentieth. Without the kernel's word what is huge it would begin from the start.
fn is_worth(plan: &plan::Plan, now: &Memory) -> bool {
    let resident: u64 = now.areas.iter().map(|area| area.resident).sum();
    plan.bytes() > resident / 20 && now.tells_huge()
}

/// Whether a process is there and may be changed; nothing is done to it.
///
/// # Errors
/// What is in the way, and what to do.
pub fn check(effects: &mut dyn Adopts, pid: Pid) -> Result<(), Failure> {
    open(effects, pid).map(drop)
}

/// What would be done to a process: as if each step succeeded.
///
/// # Errors
/// When there is no such process, or it may not be looked at.
pub fn foresee(root: &Root, pid: Pid, wish: &Adopt) -> Result<Adopted, Failure> {
    let before = Memory::look(root, pid, &wish.segments)?;
    let room = guard::room(root, pid);
    let plan = plan::plan(&before.areas, before.size, &room, wish.touched);
    let after = foreseen(&before, &plan);
    let outcome = Outcome {
        done: plan.steps.iter().map(plan::Step::size).sum(),
        ..Outcome::default()
    };
    Ok(report::adopted(
        pid.get(),
        &before,
        Some(&after),
        &plan,
        &outcome,
    ))
}

fn foreseen(before: &Memory, plan: &plan::Plan) -> Memory {
    let mut after = before.clone();
    let steps: BTreeSet<u64> = plan.steps.iter().map(|step| step.range.start).collect();
    for area in after.areas.iter_mut().filter(|area| area.rest() > 0) {
        for unit in area
            .units
            .iter_mut()
            .filter(|unit| steps.contains(&unit.start))
        {
            let size = before.size;
            area.resident += size.saturating_sub(unit.touched.present);
            *area.huge.entry(size).or_default() += size;
            (unit.huge, unit.touched.present) = (Some(true), size);
        }
    }
    after
}

/// The process, and the right to change it.
fn open(effects: &mut dyn Adopts, pid: Pid) -> Result<OwnedFd, Failure> {
    let process = effects
        .process(pid)
        .map_err(|error| no_process(pid, &error))?;
    match effects.collapse(process.as_fd(), &(0..0)) {
        Ok(()) => Ok(process),
        Err(error) => Err(refused(pid, &error)),
    }
}

fn no_process(pid: Pid, error: &io::Error) -> Failure {
    Failure::Own(match error.raw_os_error() {
        Some(libc::ESRCH) => format!("there is no process {pid}"),
        Some(libc::EINVAL) => {
            format!("{pid} is the number of a thread: give that of its process")
        }
        Some(libc::ENOSYS) => old_kernel(),
        other => format!(
            "process {pid}: pidfd_open: {}",
            describe_errno(other.unwrap_or(0))
        ),
    })
}

fn refused(pid: Pid, error: &io::Error) -> Failure {
    Failure::Own(match error.raw_os_error() {
        Some(libc::ESRCH) => format!(
            "process {pid} has no memory of its own: it is a part of the kernel, or has ended"
        ),
        Some(libc::ENOSYS | libc::EINVAL) => old_kernel(),
        Some(libc::EPERM) => format!(
            "process {pid}: its memory may not be changed: CAP_SYS_NICE is missing (EPERM)\n  run \
             this as root, or have a copy of hugectl for --pid alone, since programs that it starts \
             would lose variables:\n  cp hugectl hugectl-pid && setcap \
             cap_sys_nice,cap_sys_ptrace+ep hugectl-pid"
        ),
        Some(libc::EACCES) => format!(
            "process {pid}: its memory may not be looked at: CAP_SYS_PTRACE is missing (EACCES)\n  \
             run this as root; in a container, where the process is in it, or from outside"
        ),
        other => format!(
            "process {pid}: process_madvise: {}",
            describe_errno(other.unwrap_or(0))
        ),
    })
}

fn old_kernel() -> String {
    "this kernel cannot put another process's memory on huge pages: Linux 6.1 and later can\n  start \
     the program under hugectl instead, such as with --heap"
        .to_owned()
}
