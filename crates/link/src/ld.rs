//! ld.hugetlbfs: a linker that makes programs for huge pages. It stands before
//! the real linker, tells it how to align segments, adds our library, and
//! marks the segments of what was made.
//!
//! A line without an option of ours goes to the real linker as it is.

pub mod caller;
mod find;
mod output;
mod plan;
mod probe;
mod request;
mod response;
mod run;
mod target;

pub use run::die;

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use hugetools_elf::Marks;
use hugetools_model::Bytes;

use crate::change::Align;
use crate::failure::Failure;
use crate::file;
use caller::Caller;
use output::Output;
use plan::Facts;
use request::{Kind, Request};

/// The exit status of one that called itself.
pub const RECURSION: u8 = 99;

/// The exit status of its own failures, as linkers have it.
pub const FAILED: u8 = 1;

/// How a run ended; where the linker took the place of this process it did not.
#[derive(Debug, Default)]
pub struct End {
    /// The exit status.
    pub status: u8,
    /// The signal that ended the linker.
    pub signal: Option<i32>,
    /// What should be known.
    pub warnings: Vec<String>,
    /// Why it failed, where that was not the linker.
    pub failure: Option<Failure>,
}

impl End {
    fn failed(failure: Failure) -> End {
        End {
            status: FAILED,
            failure: Some(failure),
            ..End::default()
        }
    }
}

/// Links. `warn` is called with what should be known before the linker runs.
pub fn run(caller: &Caller, warn: &dyn Fn(&str)) -> End {
    if caller.recursion {
        let failure = Failure::new(
            "LD_HUGETLBFS_RECURSION is set: the linker that was found calls ld.hugetlbfs again",
        )
        .next("LD=PATH names the real linker");
        return End {
            status: RECURSION,
            ..End::failed(failure)
        };
    }
    link(caller, warn).unwrap_or_else(End::failed)
}

fn link(caller: &Caller, warn: &dyn Fn(&str)) -> Result<End, Failure> {
    let linker = find::linker(caller)?;
    let given = caller.argv.get(1..).unwrap_or_default();
    let line = response::expand(given.to_vec(), &read);
    if !request::concerns_us(&line) {
        return Err(run::become_it(&linker, given));
    }
    let request = Request::new(line)?;
    if request.marks.is_some() && !caller.deprecated_link {
        warn(
            "--hugetlbfs-link is deprecated\n  \
             use --hugetlbfs-align, and hugeedit for marks; HUGETLB_DEPRECATED_LINK=yes silences this",
        );
    }
    let facts = match (request.kind, request.align) {
        (Kind::Relocatable, _) | (_, None) => None,
        (_, Some(align)) => Some(facts(caller, &request, &linker, align)?),
    };
    if let (Some(facts), Some(size)) = (&facts, &request.max_page_size) {
        warn(&format!(
            "-z max-page-size={size} is replaced by {}\n  \
             --hugetlbfs-align=SIZE sets another size",
            facts.size
        ));
    }
    let args = match &facts {
        None => request.args.clone(),
        Some(facts) => plan::plan(&request, facts),
    };
    let output = Output::new(&request.output);
    let status = run::run(&linker, &args, &caller.temporary)?;
    let made = facts.map(|facts| (facts.size, request.marks));
    Ok(match (status.success(), made) {
        (true, Some((size, marks))) => done(&output, size, marks),
        (_, made) => undone(&output, status, made.map_or(0, |(size, _)| size)),
    })
}

/// After the linker has linked.
fn done(output: &Output, size: u64, marks: Option<Marks>) -> End {
    match output.finish(size, marks) {
        Ok(warnings) => End {
            warnings,
            ..End::default()
        },
        Err(failure) => End::failed(failure),
    }
}

/// After the linker has failed, or had nothing of ours to do. `size` is how far apart the
/// segments were to be.
fn undone(output: &Output, status: ExitStatus, size: u64) -> End {
    let is_far = !status.success() && status.signal().is_none() && size >= FAR;
    let far = is_far.then(|| {
        let apart = Bytes::new(size);
        format!(
            "the segments were to be {apart} apart, and code reaches 2GB on most machines\n  \
             --hugetlbfs-align=SIZE sets a smaller size"
        )
    });
    End {
        status: run::status(status),
        signal: status.signal(),
        warnings: far.into_iter().collect(),
        // A linker that ends by itself takes away its own.
        failure: status.signal().and_then(|_| output.clean()),
    }
}

fn facts(
    caller: &Caller,
    request: &Request,
    linker: &[OsString],
    align: Align,
) -> Result<Facts, Failure> {
    let linker = probe::ask(linker)?;
    let ident = probe::ident(caller, request, &linker);
    let target = ident.as_ref().ok().copied().and_then(target::Target::of);
    let size = match (align, target, &ident) {
        (Align::To(size), ..) => size,
        (Align::Usual, Some(target), _) => target.size,
        (Align::Usual, None, Ok(ident)) => return Err(probe::unknown(&ident.to_string())),
        (Align::Usual, None, Err(failure)) => return Err(failure.clone()),
    };
    Ok(Facts {
        dialect: linker.dialect,
        size,
        base: target.map(|target| target.base),
        library: ident.ok().and_then(|ident| find::library(caller, ident)),
    })
}

/// From this many bytes between segments on, code may not reach from one to another.
const FAR: u64 = 512 << 20;

/// The contents of a response file.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    let file = file::open(path, false).map_err(std::io::Error::other)?;
    file.take(LARGEST).read_to_end(&mut contents)?;
    Ok(contents)
}

/// No line is longer.
const LARGEST: u64 = 1 << 30;
