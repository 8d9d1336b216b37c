//! Where in a starter's arguments its program is.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

/// Which options of a starter have a value in the next word.
pub(super) struct Options {
    short: &'static str,
    /// With blanks between them.
    long: &'static str,
    /// How many words stand between its options and the program.
    words: usize,
}

impl Options {
    /// Those of a starter, by its name.
    pub(super) fn of(name: &[u8]) -> Options {
        let (short, long) = match name {
            b"sudo" => (
                "ugpCDhrtTUR",
                "user group prompt close-from chdir host role type command-timeout other-user \
                 chroot",
            ),
            b"doas" => ("uCa", ""),
            b"pkexec" => ("", "user"),
            b"systemd-run" => (
                "HMpuE",
                "host machine unit property description slice service-type uid gid nice \
                 working-directory setenv path-property socket-property timer-property on-active \
                 on-boot on-startup on-unit-active on-unit-inactive on-calendar",
            ),
            b"ssh" => ("BbcDEeFIiJLlmOopQRSWw", ""),
            b"env" => ("uCS", "unset chdir split-string"),
            b"setpriv" => (
                "",
                "reuid regid ruid euid rgid egid groups inh-caps ambient-caps bounding-set \
                 securebits pdeathsig selinux-label apparmor-profile",
            ),
            b"tmux" => ("cfLST", ""),
            // And other commands of it that start a program.
            b"tmux new-session" => ("ceFflnstxy", ""),
            _ => ("", ""),
        };
        let words = usize::from(name == b"ssh");
        Options { short, long, words }
    }

    /// Where the program is.
    pub(super) fn program_at(&self, words: &[OsString]) -> Option<usize> {
        let mut at = 1;
        while let Some(word) = words.get(at).map(|word| word.as_bytes()) {
            at += match word {
                b"--" => {
                    at += 1;
                    break;
                }
                [b'-', b'-', name @ ..] => {
                    let mut long = self.long.split(' ');
                    1 + usize::from(long.any(|long| long.as_bytes() == name))
                }
                [b'-', letters @ ..] => 1 + usize::from(self.takes_next(letters)),
                _ if is_assignment(word) => 1,
                _ => break,
            };
        }
        at += self.words;
        (at < words.len()).then_some(at)
    }

    /// Whether the last of some letters is an option whose value is the next word.
    fn takes_next(&self, letters: &[u8]) -> bool {
        let with_value = |letter: &u8| self.short.as_bytes().contains(letter);
        let first = letters.iter().position(with_value);
        first.is_some_and(|first| first + 1 == letters.len())
    }
}

fn is_assignment(word: &[u8]) -> bool {
    let mut parts = word.splitn(2, |byte| *byte == b'=');
    let name = parts.next().unwrap_or_default();
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    parts.next().is_some() && name.iter().all(in_name)
}

/// `-`, `-l`, `--login`, and `-` among short options, as in `-lc`.
pub(super) fn is_login(word: &OsStr) -> bool {
    let bytes = word.as_bytes();
    match bytes {
        b"-" | b"--login" => true,
        [b'-', b'-', ..] => false,
        [b'-', letters @ ..] => letters.contains(&b'l'),
        _ => false,
    }
}

/// What `su -c` is to run: at which word, what of that word stands before it, and it.
pub(super) fn script_of(words: &[OsString]) -> Option<(usize, &OsStr, &OsStr)> {
    const LONG: &[u8] = b"--command=";
    let next = |at: usize| Some((at + 1, OsStr::new(""), words.get(at + 1)?.as_os_str()));
    words.iter().enumerate().skip(1).find_map(|(at, word)| {
        let bytes = word.as_bytes();
        match bytes {
            b"--command" | b"--session-command" => next(at),
            [b'-', b'-', ..] => {
                let script = bytes.strip_prefix(LONG)?;
                Some((at, OsStr::from_bytes(LONG), OsStr::from_bytes(script)))
            }
            [b'-', letters @ .., b'c'] if letters.iter().all(u8::is_ascii_alphabetic) => next(at),
            _ => None,
        }
    })
}
