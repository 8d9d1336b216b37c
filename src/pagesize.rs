//! pagesize: what goes in, what comes out, and the exit status.

pub mod args;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use hugetools_model::meminfo::Meminfo;
use hugetools_model::{PageSize, Root, pool, zone};
use nix::unistd::{SysconfVar, sysconf};
use serde::Serialize;

use crate::log::Log;
use crate::{console, usage};
use args::Args;

/// There is no option to say more or less.
const LOG: Log = Log {
    prefix: "pagesize: ",
    verbosity: 2,
};

const FAILED: u8 = 1;
const USAGE: u8 = 2;

/// What a run says, as one JSON document. The fields are described in
/// pagesize(1).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Document {
    /// `pagesize`
    tool: &'static str,
    /// Its version.
    version: &'static str,
    /// The exit status.
    status: u8,
    /// Why there are no sizes.
    errors: Vec<String>,
    /// The sizes asked for, in bytes, smallest first.
    page_sizes: Vec<PageSize>,
}

/// The whole program.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os().collect()))
}

fn run(argv: Vec<OsString>) -> u8 {
    let args = match Args::try_parse_from(argv) {
        Ok(args) => args,
        Err(error) => return no_args(&error),
    };
    let root = match root(args.sysroot.as_deref()) {
        Ok(root) => root,
        Err(why) => return wrong(&format!("--sysroot: {why}")),
    };
    let sizes = sizes(&args, &root);
    match &sizes {
        Ok(sizes) if sizes.is_empty() => LOG.warning("this machine offers no huge page size"),
        Ok(_) => {}
        Err(why) => LOG.error(why),
    }
    let status = if sizes.is_ok() { 0 } else { FAILED };
    let text = match args.json {
        true => json(status, sizes),
        false => sizes.map(|sizes| {
            sizes
                .iter()
                .map(|size| format!("{}\n", size.get()))
                .collect()
        }),
    };
    status.max(text.map_or(FAILED, |text: String| print(&text)))
}

/// Help, version, and what is wrong with a command line.
fn no_args(error: &clap::Error) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print(&(error.to_string().trim_end().to_owned() + "\n"))
        }
        _ => wrong(&usage::explain(error, &Args::command())),
    }
}

fn wrong(text: &str) -> u8 {
    LOG.error(&format!("{text}\n  pagesize --help explains the options"));
    USAGE
}

fn root(sysroot: Option<&Path>) -> Result<Root, String> {
    match sysroot {
        None => Ok(live()),
        Some(dir) => Root::at(dir),
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "without --sysroot, this machine is meant"
)]
fn live() -> Root {
    Root::live()
}

/// The sizes asked for, smallest first.
fn sizes(args: &Args, root: &Root) -> Result<Vec<PageSize>, String> {
    let mut sizes = Vec::new();
    if args.all || args.huge_only {
        let default = Meminfo::read(root).map_err(|error| error.to_string())?;
        let huge = pool::sizes(root, default.huge_page_size);
        sizes = huge.map_err(|error| error.to_string())?;
    }
    if !args.huge_only {
        sizes.push(base(root)?);
        sizes.sort_unstable();
    }
    Ok(sizes)
}

/// The size of ordinary pages: what the C library says; of a recorded machine,
/// what its memory and its zones tell.
fn base(root: &Root) -> Result<PageSize, String> {
    let bytes = match root.is_live() {
        true => sysconf(SysconfVar::PAGE_SIZE)
            .map_err(|errno| errno.to_string())?
            .and_then(|size| u64::try_from(size).ok()),
        false => {
            let memory = Meminfo::read(root).map_err(|error| error.to_string())?;
            let zones = zone::read(root).map_err(|error| error.to_string())?;
            let base = zone::base_page_size(root, memory.total, &zones);
            base.map_err(|error| error.to_string())?
                .map(|bytes| bytes.get())
        }
    };
    bytes.and_then(PageSize::new).ok_or_else(|| {
        "the size of ordinary pages cannot be told\n  \
         a recorded machine tells it by proc/meminfo and proc/zoneinfo, or proc/self/auxv"
            .to_owned()
    })
}

fn json(status: u8, sizes: Result<Vec<PageSize>, String>) -> Result<String, String> {
    let document = Document {
        tool: "pagesize",
        version: env!("CARGO_PKG_VERSION"),
        status,
        errors: sizes.as_ref().err().cloned().into_iter().collect(),
        page_sizes: sizes.unwrap_or_default(),
    };
    serde_json::to_string_pretty(&document)
        .map(|json| json + "\n")
        .map_err(|error| error.to_string())
}

fn print(text: &str) -> u8 {
    match console::out(text) {
        Ok(()) => 0,
        Err(error) => {
            LOG.error(&format!("cannot write to standard output: {error}"));
            FAILED
        }
    }
}
