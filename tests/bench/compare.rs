//! The commands of `hugectl --compare`.

use std::process::{Command, Stdio};

use super::args::Args;
use super::pool::PoolGuard;
use super::prepare::{Job, PATH, Scratch};
use super::support::tool::tool;
use super::work::Work;

/// Fills the pool and prepares the program of a workload. Returns `hugectl --compare` with these
/// options, and a guard that restores the machine.
pub(crate) fn command(
    work: &Work,
    args: &Args,
    scratch: &Scratch,
    options: &[&str],
) -> Result<(PoolGuard, Command), String> {
    let (size, mib) = work.sizes[usize::from(args.quick)];
    // Before `prepare`, where initdb takes pages of the pool, too.
    let pool = PoolGuard::take(work, mib)?;
    let job = (work.prepare)(scratch, size)?;
    let mut command = tool("hugectl");
    command
        .args(options)
        .args(arguments(work, &job, &pool, args));
    command.env("PATH", PATH).stdin(Stdio::null());
    Ok((pool, command))
}

fn arguments(work: &Work, job: &Job, pool: &PoolGuard, args: &Args) -> Vec<String> {
    let ways = work.ways.replace("POOL", &pool.way);
    let stop_option = match args.quick {
        true => "--rounds=5".to_owned(),
        false => format!("--time={}", args.time),
    };
    let mut arguments = vec![format!("--compare={ways}"), stop_option];
    arguments.extend(work.options.iter().map(|&option| option.to_owned()));
    arguments.extend(job.options.iter().cloned());
    arguments.push("--".to_owned());
    arguments.extend(job.program.iter().cloned());
    arguments
}
