//! Wrappers: programs that run the program named in their arguments, as in
//! `nice -n 5 taskset -c 0,1 ./solver`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::caller::Caller;
use crate::probe::target::{self, Opened};

/// Their names, separated by blanks.
const WRAPPERS: &str = "busybox catchsegv chrt env ionice linux32 linux64 nice nohup \
    numactl prlimit script setarch setpriv setsid stdbuf strace taskset time timeout toybox \
    unshare xargs";

/// Returns the file name of a path.
pub(crate) fn file_name(word: &OsStr) -> &[u8] {
    Path::new(word).file_name().map_or(&[], OsStrExt::as_bytes)
}

/// Splits a command line: each wrapper with its own arguments, outermost first, then the program
/// that they run. The wrapped program is the first argument that is neither an option nor an
/// assignment and for which `is_program` is true, since options may have values.
pub(crate) fn layers<'c>(
    command: &'c [OsString],
    is_program: &'c dyn Fn(&OsStr) -> bool,
) -> impl Iterator<Item = &'c [OsString]> {
    let mut rest = command;
    std::iter::from_fn(move || {
        let (first, words) = rest.split_first()?;
        let name = file_name(first);
        let is_wrapper = WRAPPERS.split(' ').any(|known| known.as_bytes() == name);
        let is_wrapped = |word: &OsString| {
            let bytes = word.as_bytes();
            !bytes.starts_with(b"-") && !bytes.contains(&b'=') && is_program(word)
        };
        let at = words.iter().position(|word| is_wrapper && is_wrapped(word));
        let (layer, inner) = rest.split_at(at.map_or(rest.len(), |at| at + 1));
        rest = inner;
        Some(layer)
    })
}

/// Opens the program behind all wrappers, if there is a wrapper.
pub(crate) fn open_wrapped(command: &[OsString], caller: &Caller) -> Option<Opened> {
    let is_program = |name: &OsStr| target::is_program(name, caller);
    let innermost = layers(command, &is_program).skip(1).last()?;
    target::open(innermost.first()?, caller).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_program_is_found() {
        let is_program = |word: &OsStr| {
            let word = word.to_str().unwrap();
            word.contains('/') || ["nice", "taskset", "env", "solver", "sudo"].contains(&word)
        };
        for (line, inner) in [
            ("solver -x nice", "solver -x nice"),
            ("nice -n 5 taskset -c 0,1 solver -x", "solver -x"),
            ("/usr/bin/env -i A=/b/c solver", "solver"),
            ("timeout 5 /opt/solver a", "/opt/solver a"),
            ("sudo nice solver", "sudo nice solver"),
            ("nice", "nice"),
        ] {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let last = layers(&words, &is_program).last().unwrap();
            assert_eq!(last.join(OsStr::new(" ")), inner, "{line}");
        }
    }
}
