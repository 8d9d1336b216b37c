//! ld.hugetlbfs: a linker wrapper that prepares programs for huge pages. It runs the real linker
//! with our library and with options that align segments, then marks the segments of the output.
//!
//! A command line without one of our options goes to the real linker unchanged.

pub mod caller;
mod find;
mod output;
mod plan;
mod probe;
mod request;
mod response;
mod run;
mod target;

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;

use crate::change::Align;
use crate::failure::Failure;
use crate::file;
use caller::Caller;
use output::Output;
use plan::Facts;
use request::{Kind, Request};

/// Exit status after a recursive call.
pub const RECURSION: u8 = 99;

/// Exit status of our own failures; linkers use the same.
pub const FAILED: u8 = 1;

/// Returns the error for a recursive call.
pub fn recursive_call() -> Failure {
    Failure::new(
        "LD_HUGETLBFS_RECURSION is set: the linker found in the path calls ld.hugetlbfs again",
    )
    .next("LD=PATH names the real linker")
}

/// Links and returns the exit status. `warn` prints warnings.
///
/// # Errors
/// Our own failure. The linker prints its own.
pub fn run(caller: &Caller, warn: &dyn Fn(&str)) -> Result<u8, Failure> {
    let linker = find::linker(caller)?;
    let given = caller.argv.get(1..).unwrap_or_default();
    let line = response::expand(given.to_vec(), &read);
    if !request::has_our_options(&line) {
        return Err(run::exec(&linker, given));
    }
    let request = Request::new(line)?;
    if request.marks.is_some() && !caller.deprecated_link {
        warn(
            "--hugetlbfs-link is deprecated\n  \
             use --hugetlbfs-align, and hugeedit to mark segments; HUGETLB_DEPRECATED_LINK=yes silences this",
        );
    }
    let facts = match (request.kind, request.align) {
        (Kind::Relocatable, _) | (_, None) => None,
        (_, Some(align)) => Some(facts(caller, &request, &linker, align)?),
    };
    let args = match &facts {
        None => request.args.clone(),
        Some(facts) => plan::plan(&request, facts),
    };
    let output = Output::new(&request.output);
    let status = run::run(&linker, &args)?;
    if let (Some(facts), true) = (&facts, status.success()) {
        for warning in output.finish(facts.size, request.marks)? {
            warn(&warning);
        }
    }
    Ok(run::status(status))
}

fn facts(
    caller: &Caller,
    request: &Request,
    linker: &[OsString],
    align: Align,
) -> Result<Facts, Failure> {
    let ident = probe::ident(request);
    let target = ident.and_then(target::Target::of);
    let size = match (align, target) {
        (Align::To(size), _) => size,
        (Align::Usual, Some(target)) => target.size,
        (Align::Usual, None) => return Err(probe::unknown_page_size(ident)),
    };
    Ok(Facts {
        dialect: probe::dialect(linker)?,
        size,
        base: target.map(|target| target.base),
        library: ident.and_then(|ident| find::library(caller, ident)),
    })
}

/// Reads a response file.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    let mut file = file::open(path, false).map_err(std::io::Error::other)?;
    file.read_to_end(&mut contents)?;
    Ok(contents)
}
