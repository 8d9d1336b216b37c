//! Runs `hugectl --compare`.

use std::io::{Read, Seek};
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use super::args::Args;
use super::pool::Pool;
use super::prepare::{Job, PATH, Scratch};
use super::stop;
use super::support::tool::tool;
use super::work::Work;

/// Runs a workload in all ways. Returns hugectl's document with the workload's name and title.
pub(crate) fn run(work: &Work, args: &Args, scratch: &Scratch) -> Value {
    let (size, mib) = work.sizes[usize::from(args.quick)];
    let title = format!("{}, size {size}", work.what);
    // Before `prepare`: initdb takes pages of the pool, too.
    let compared = Pool::take(work, mib).and_then(|pool| {
        let job = (work.prepare)(scratch, size)?;
        let mut document = hugectl(&words(work, &job, &pool, args))?;
        document["machine"] = pool.says.clone().into();
        Ok(document)
    });
    let mut document = compared.unwrap_or_else(|why| json!({"not_run": why}));
    document["workload"] = work.name.into();
    document["title"] = title.into();
    document
}

fn words(work: &Work, job: &Job, pool: &Pool, args: &Args) -> Vec<String> {
    let ways = work.ways.replace("POOL", &pool.way);
    let stop = match args.quick {
        true => "--rounds=5".to_owned(),
        false => format!("--time={}", args.time),
    };
    let mut words = vec!["--json".to_owned(), format!("--compare={ways}"), stop];
    words.extend(work.options.iter().map(|&word| word.to_owned()));
    words.extend(job.options.iter().cloned());
    words.push("--".to_owned());
    words.extend(job.program.iter().cloned());
    words
}

/// Runs hugectl. A signal to the benchmark interrupts it.
fn hugectl(words: &[String]) -> Result<Value, String> {
    let message = |error: std::io::Error| format!("hugectl: {error}");
    let mut files = [
        tempfile::tempfile().map_err(message)?,
        tempfile::tempfile().map_err(message)?,
    ];
    let mut command = tool("hugectl");
    command.args(words).env("PATH", PATH).stdin(Stdio::null());
    command.stdout(files[0].try_clone().map_err(message)?);
    command.stderr(files[1].try_clone().map_err(message)?);
    let mut child = command.spawn().map_err(message)?;
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    while child.try_wait().map_err(message)?.is_none() {
        sleep(Duration::from_millis(20));
        if stop::is_requested() {
            // It may have ended.
            let _ = kill(pid, Signal::SIGINT);
        }
    }
    let mut texts = [String::new(), String::new()];
    for (file, text) in files.iter_mut().zip(&mut texts) {
        file.rewind()
            .and_then(|()| file.read_to_string(text))
            .map_err(message)?;
    }
    let [out, errors] = texts;
    let document: Value = serde_json::from_str(&out).map_err(|_| errors.trim_end().to_owned())?;
    match document["ways"].is_array() {
        true => Ok(document),
        false => Err(format!("{}{errors}", document["errors"])),
    }
}
