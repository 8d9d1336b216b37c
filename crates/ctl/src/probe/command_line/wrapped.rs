//! What a command line runs in the end, where programs stand in front of it
//! that only change how it runs: `nice -n 5 taskset -c 0,1 ./solver`.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Programs that become, or run, what their arguments name.
const WRAPPERS: &[&str] = &[
    "busybox",
    "chrt",
    "catchsegv",
    "env",
    "ionice",
    "linux32",
    "linux64",
    "mpiexec",
    "mpirun",
    "nice",
    "nohup",
    "numactl",
    "prlimit",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "srun",
    "stdbuf",
    "strace",
    "taskset",
    "time",
    "timeout",
    "toybox",
    "unshare",
    "xargs",
];

/// The name of a file, without its directory.
pub(crate) fn base(word: &OsStr) -> &[u8] {
    Path::new(word).file_name().map_or(&[], OsStrExt::as_bytes)
}

/// The command and the commands within it, outermost first. Which word is a
/// program is for `is_program` to say: options have values that are none.
pub(crate) fn layers<'c>(
    command: &'c [OsString],
    is_program: &'c dyn Fn(&OsStr) -> bool,
) -> impl Iterator<Item = &'c [OsString]> {
    let first = (!command.is_empty()).then_some(command);
    std::iter::successors(first, |outer| {
        let (wrapper, words) = outer.split_first()?;
        let is_known = WRAPPERS.iter().any(|name| name.as_bytes() == base(wrapper));
        if !is_known {
            return None;
        }
        let plain = |word: &OsString| {
            let bytes = word.as_bytes();
            !bytes.starts_with(b"-") && !bytes.contains(&b'=') && is_program(word)
        };
        let at = words.iter().position(plain)?;
        Some(&words[at..])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn innermost(line: &str) -> String {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        let is_program = |word: &OsStr| {
            let word = word.to_str().unwrap();
            word.contains('/') || ["nice", "taskset", "env", "solver", "sudo"].contains(&word)
        };
        let last = layers(&words, &is_program).last().unwrap();
        last.join(OsStr::new(" ")).into_string().unwrap()
    }

    #[test]
    fn wrappers_are_looked_through() {
        for (line, inner) in [
            ("solver -x nice", "solver -x nice"),
            ("nice -n 5 taskset -c 0,1 solver -x", "solver -x"),
            ("/usr/bin/env -i A=/b/c solver", "solver"),
            ("timeout 5 /opt/solver a", "/opt/solver a"),
            ("sudo nice solver", "sudo nice solver"),
            ("nice", "nice"),
            ("busybox env -i solver", "solver"),
        ] {
            assert_eq!(innermost(line), inner, "{line}");
        }
    }
}
