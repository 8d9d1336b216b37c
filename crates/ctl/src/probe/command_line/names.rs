//! Names of programs: the list of `--only`, and hints on a name that was not found.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use hugetools_contract::env::{self, Pages};
use hugetools_model::PageSize;

use crate::caller::Caller;
use crate::probe::command_line::wrappers::file_name;
use crate::probe::target;
use crate::request::Run;
use crate::say::failure::Failure;

/// Returns the names of programs that get huge pages; `None` for all. An inherited list narrows
/// `--only` if they have a name in common.
pub(crate) fn selected(run: &Run, caller: &Caller) -> Option<OsString> {
    let inherited = caller.var(env::RESTRICT_EXE);
    let (Some(names), Some(inherited)) = (&run.only, inherited) else {
        return run.only.clone().or(inherited.map(OsStr::to_owned));
    };
    let all = names.as_bytes().split(|byte| *byte == b':');
    let both: Vec<&[u8]> = all
        .filter(|name| env::is_among(name, inherited.as_bytes()))
        .collect();
    match both.is_empty() {
        true => Some(names.clone()),
        false => Some(OsString::from_vec(both.join(&b':'))),
    }
}

/// Returns the names of `--only` that are neither in `PATH` nor on the command line.
pub(crate) fn unknown(run: &Run, caller: &Caller) -> Vec<String> {
    let names = run.only.as_deref().unwrap_or_default().as_bytes();
    let names = names
        .split(|byte| *byte == b':')
        .filter(|name| !name.is_empty());
    let in_command = |name: &[u8]| {
        // A word may be a script for a shell.
        let separates = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"/._+-".contains(byte));
        let words = run.command.iter().map(|word| word.as_bytes());
        let mut parts = words.flat_map(|word| word.split(separates));
        parts.any(|part| file_name(OsStr::from_bytes(part)) == name)
    };
    let is_unknown =
        |name: &&[u8]| !in_command(name) && !target::is_program(OsStr::from_bytes(name), caller);
    let unknown = names.filter(is_unknown);
    unknown
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

/// Adds a hint if the program that was not found is a page size or a quoted command line.
pub(crate) fn with_hint(failure: Failure, run: &Run, caller: &Caller) -> Failure {
    let line = run.command.first().map_or(&b""[..], |name| name.as_bytes());
    let line = line.trim_ascii();
    let first = line.split(u8::is_ascii_whitespace).next();
    let is_line = first.is_some_and(|first| {
        first.len() < line.len() && target::is_program(OsStr::from_bytes(first), caller)
    });
    match with_size_hint(failure, run) {
        Failure::NotFound(text) if is_line => {
            Failure::NotFound(format!("{text}; remove the quotes around the command line"))
        }
        failure => failure,
    }
}

/// Adds a hint if the program that was not found is a page size: `--heap 2MB ls` lacks a `=`.
fn with_size_hint(failure: Failure, run: &Run) -> Failure {
    let word = run.command.first().and_then(|word| word.to_str());
    let size = word.filter(|word| *word == "thp" || word.parse::<PageSize>().is_ok());
    let option = run
        .asked_pages()
        .find(|(_, pages)| *pages == Pages::Default);
    match (failure, size, option) {
        (Failure::NotFound(text), Some(size), Some((option, _))) => {
            Failure::NotFound(format!("{text}; {option}={size}?"))
        }
        (failure, ..) => failure,
    }
}
