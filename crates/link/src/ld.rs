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

pub use run::die;

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;

use hugetools_model::Bytes;

use crate::change::Align;
use crate::failure::Failure;
use crate::file;
use caller::Caller;
use output::Output;
use plan::Facts;
use request::{Kind, Request};

/// Exit status after a recursive call.
pub const RECURSION: u8 = 99;

/// Exit status of our own failures, the same as the linkers'.
pub const FAILED: u8 = 1;

/// How a run ended. Not returned after exec of the real linker.
#[derive(Debug, Default)]
pub struct End {
    /// The exit status.
    pub status: u8,
    /// The signal that killed the linker.
    pub signal: Option<i32>,
    /// Warnings to print.
    pub warnings: Vec<String>,
    /// Our own failure. The linker prints its own.
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

/// Links. `warn` prints warnings before the linker runs.
pub fn run(caller: &Caller, warn: &dyn Fn(&str)) -> End {
    if caller.recursion {
        let failure = Failure::new(
            "LD_HUGETLBFS_RECURSION is set: the linker found in the path calls ld.hugetlbfs again",
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
    let status = run::run(&linker, &args)?;
    Ok(match facts {
        Some(facts) if status.success() => End {
            warnings: output.finish(facts.size, request.marks)?,
            ..End::default()
        },
        facts => End {
            status: run::status(status),
            signal: status.signal(),
            warnings: facts
                .filter(|facts| facts.size >= FAR && status.signal().is_none())
                .map(|facts| far_apart(facts.size))
                .into_iter()
                .collect(),
            // A linker that exits has removed incomplete output itself.
            failure: status.signal().and_then(|_| output.clean()),
        },
    })
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
        (Align::Usual, None, Ok(ident)) => {
            return Err(probe::unknown_page_size(&ident.to_string()));
        }
        (Align::Usual, None, Err(failure)) => return Err(failure.clone()),
    };
    Ok(Facts {
        dialect: linker.dialect,
        size,
        base: target.map(|target| target.base),
        library: ident.ok().and_then(|ident| find::library(caller, ident)),
    })
}

/// Distance between segments (bytes) from which relative addresses may overflow.
const FAR: u64 = 512 << 20;

/// Explains a failed link of segments that are `size` bytes apart.
fn far_apart(size: u64) -> String {
    format!(
        "segments {} apart may not fit: on most machines code can address only 2GB\n  \
         --hugetlbfs-align=SIZE sets a smaller size",
        Bytes::new(size)
    )
}

/// Reads a response file.
fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut contents = Vec::new();
    let file = file::open(path, false).map_err(std::io::Error::other)?;
    file.take(MAX_RESPONSE_FILE).read_to_end(&mut contents)?;
    Ok(contents)
}

/// Size limit of a response file (bytes).
const MAX_RESPONSE_FILE: u64 = 1 << 30;
