//! The commands of `hugectl --compare`.

use std::process::{Command, Stdio};

use super::args::Args;
use super::pool::Pool;
use super::prepare::{Job, PATH, Scratch};
use super::support::tool::tool;
use super::work::Work;

/// Prepares machine and program of a workload. Returns the machine, and hugectl's command with these
/// options.
pub(crate) fn command(
    work: &Work,
    args: &Args,
    scratch: &Scratch,
    options: &[&str],
) -> Result<(Pool, Command), String> {
    let (size, mib) = work.sizes[usize::from(args.quick)];
    // Before `prepare`: initdb takes pages of the pool, too.
    let pool = Pool::take(work, mib)?;
    let job = (work.prepare)(scratch, size)?;
    let mut command = tool("hugectl");
    command.args(options).args(words(work, &job, &pool, args));
    command.env("PATH", PATH).stdin(Stdio::null());
    Ok((pool, command))
}

fn words(work: &Work, job: &Job, pool: &Pool, args: &Args) -> Vec<String> {
    let ways = work.ways.replace("POOL", &pool.way);
    let stop = match args.quick {
        true => "--rounds=5".to_owned(),
        false => format!("--time={}", args.time),
    };
    let mut words = vec![format!("--compare={ways}"), stop];
    words.extend(work.options.iter().map(|&word| word.to_owned()));
    words.extend(job.options.iter().cloned());
    words.push("--".to_owned());
    words.extend(job.program.iter().cloned());
    words
}
