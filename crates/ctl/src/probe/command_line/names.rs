//! Whether what is named is a program: the names of `--only`, and a size that
//! stands where the program should.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use hugetools_contract::env::{self, Pages};
use hugetools_model::PageSize;

use crate::caller::Caller;
use crate::probe::command_line::wrapped::base;
use crate::probe::target::{self, Target};
use crate::request::Run;
use crate::say::failure::Failure;

/// The names that huge pages are for, `None` for all: those of the option that are in the
/// list that is there already, too. Where no name is in both, those of the option count.
pub(crate) fn in_force(run: &Run, caller: &Caller) -> Option<OsString> {
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

/// Those that no program has: none in `PATH`, beside the program or among the
/// words of the command line.
pub(crate) fn unknown(run: &Run, target: Option<&Target>, caller: &Caller) -> Vec<String> {
    let (Some(names), Some(target)) = (&run.only, target) else {
        return Vec::new();
    };
    let names = names.as_bytes().split(|byte| *byte == b':');
    let unknown = names.filter(|name| !is_known(OsStr::from_bytes(name), run, target, caller));
    unknown
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect()
}

fn is_known(name: &OsStr, run: &Run, target: &Target, caller: &Caller) -> bool {
    let ends_so = |path: &Path| path.file_name() == Some(name);
    let real = std::fs::canonicalize(&target.path).unwrap_or_else(|_| target.path.clone());
    let beside = real.parent().map(|dir| dir.join(name));
    // A command in quotes, for a shell.
    let in_words = |word: &OsStr| {
        let separators = |byte: &u8| !(byte.is_ascii_alphanumeric() || b"/._+-".contains(byte));
        let mut parts = word.as_bytes().split(separators);
        parts.any(|part| base(OsStr::from_bytes(part)) == name.as_bytes())
    };
    ends_so(&target.path)
        || ends_so(&target.program)
        || run.command.iter().any(|word| in_words(word))
        || beside.is_some_and(|path| path.is_file())
        || target::is_program(name, caller)
}

/// What the user may have meant by the name of a program that is not there.
pub(crate) fn meant(failure: Failure, run: &Run, caller: &Caller) -> Failure {
    meant_words(meant_a_size(failure, run), run, caller)
}

/// `--heap "ls -l"` looks for a program of that name, spaces and all.
fn meant_words(failure: Failure, run: &Run, caller: &Caller) -> Failure {
    let line = run.command.first().map_or(&b""[..], |name| name.as_bytes());
    let line = line.trim_ascii();
    let first = line.split(u8::is_ascii_whitespace).next();
    let is_line = first.is_some_and(|first| {
        first.len() < line.len() && target::is_program(OsStr::from_bytes(first), caller)
    });
    match failure {
        Failure::NotFound(text) if is_line => Failure::NotFound(format!(
            "{text}; the program and its arguments are words of their own: is it without the \
             quotes?"
        )),
        failure => failure,
    }
}

/// `--heap 2MB ls` looks for a program of that name: a size needs its `=`.
fn meant_a_size(failure: Failure, run: &Run) -> Failure {
    let word = run.command.first().and_then(|word| word.to_str());
    let size = word.filter(|word| *word == "thp" || word.parse::<PageSize>().is_ok());
    let segments = &run.segments;
    let options = [
        ("--heap", run.heap),
        ("--shm", run.shm),
        ("--anon", run.anon),
        ("--stack", run.stack),
        ("--text", segments.text),
        ("--data", segments.data),
        ("--bss", segments.bss),
    ];
    let option = options
        .into_iter()
        .find(|(_, pages)| *pages == Some(Pages::Default));
    match (failure, size, option) {
        (Failure::NotFound(text), Some(size), Some((option, _))) => {
            Failure::NotFound(format!("{text}; a size is written {option}={size}"))
        }
        (failure, ..) => failure,
    }
}
