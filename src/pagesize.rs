//! pagesize: reads the command line, runs, prints, and returns the exit status.

pub mod args;

use std::ffi::OsString;

use clap::{CommandFactory, Parser};
use hugetools_model::hugetlb::pool;
use hugetools_model::machine;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::memory::zone;
use hugetools_model::{Head, PageSize, Root};
use nix::unistd::{SysconfVar, sysconf};
use serde::Serialize;

use crate::log::Log;
use crate::stdout::{out_json, print};
use crate::usage::{no_args, wrong};
use args::Args;

const LOG: Log = Log::new("pagesize");

const FAILED: u8 = 1;

/// The JSON document of a run. hugetools-json(7) describes its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Document {
    #[serde(flatten)]
    head: Head,
    /// The requested sizes in bytes, in ascending order; absent after an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    page_sizes: Option<Vec<PageSize>>,
}

/// Runs pagesize. The first argument is the name of the tool. Returns the exit status.
pub fn main(argv: Vec<OsString>) -> u8 {
    let args = match Args::try_parse_from(argv.clone()) {
        Ok(args) => args,
        Err(error) => return no_args(LOG, &error, &argv, &Args::command()),
    };
    let root = match crate::root(args.sysroot.as_deref()) {
        Ok(root) => root,
        Err(why) => return wrong(LOG, &why, args.json),
    };
    let sizes = match machine::missing_kernel_file(&root) {
        Some(path) => Err(format!("{path} is missing, as in a chroot")),
        None => sizes(&args, &root),
    };
    match (sizes, args.json) {
        (sizes, true) => print_json(sizes),
        (Ok(sizes), false) => {
            if sizes.is_empty() {
                LOG.warning(machine::NONE_OFFERED);
            }
            let lines = sizes.iter().map(|size| format!("{}\n", size.get()));
            print(&LOG, &lines.collect::<String>())
        }
        (Err(why), false) => {
            LOG.error(&why);
            FAILED
        }
    }
}

fn print_json(sizes: Result<Vec<PageSize>, String>) -> u8 {
    let mut head = match &sizes {
        Ok(_) => Head::new(LOG.tool),
        Err(why) => Head::failed(LOG.tool, FAILED, why),
    };
    if sizes.as_ref().is_ok_and(Vec::is_empty) {
        head.warnings.push(machine::NONE_OFFERED.to_owned());
    }
    let document = Document {
        head,
        page_sizes: sizes.ok(),
    };
    document.head.status.max(out_json(&LOG, &document))
}

/// Returns the requested sizes in ascending order.
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

/// Returns the size of base pages: from the C library, or on a recorded machine from its auxiliary
/// vector, or its memory and zones.
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
        "the base page size is unknown\n  \
         a recorded machine needs proc/meminfo and proc/zoneinfo, or proc/self/auxv"
            .to_owned()
    })
}
