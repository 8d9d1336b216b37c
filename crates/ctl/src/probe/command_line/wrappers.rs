//! The program that wrappers lead to: `nice`, `setpriv` and their like only change
//! how it runs.

use std::ffi::{OsStr, OsString};

use crate::caller::Caller;
use crate::files::accounts;
use crate::probe::command_line::wrapped::{base, layers};
use crate::probe::target::{self, Target};
use crate::request::Run;

/// What runs behind them, if there are some.
pub(crate) fn wrappers(run: &Run, caller: &Caller) -> Option<Target> {
    let is_program = |name: &OsStr| target::is_program(name, caller);
    let all: Vec<&[OsString]> = layers(&run.command, &is_program).collect();
    let [_, .., innermost] = all.as_slice() else {
        return None;
    };
    let caller = all.windows(2).fold(caller.clone(), |caller, pair| {
        let options = pair[0].len().saturating_sub(pair[1].len());
        as_whom(caller, pair[0].get(..options).unwrap_or_default())
    });
    let mut target = target::find(innermost.first()?, &caller).ok()?;
    if run.command.iter().any(rules_set_user_id_out) {
        target.secure = None;
    }
    Some(target)
}

/// Whether a word tells `setpriv` that no program gains rights by its file.
fn rules_set_user_id_out(word: &OsString) -> bool {
    word == "--no-new-privs" || word == "--nnp"
}

/// As whom a wrapper runs its program: whether that one is set-user-id is a question
/// of its real user.
fn as_whom(mut caller: Caller, words: &[OsString]) -> Caller {
    if words.first().is_some_and(|name| base(name) == b"setpriv") {
        if let Some(uid) = value(words, ["--reuid", "--ruid"]) {
            caller.uid = uid
                .parse()
                .ok()
                .or(accounts::uid(&uid))
                .unwrap_or(caller.uid);
        }
        if let Some(gid) = value(words, ["--regid", "--rgid"]) {
            caller.gid = gid
                .parse()
                .ok()
                .or(accounts::gid(&gid))
                .unwrap_or(caller.gid);
        }
    }
    caller
}

/// The value of the first of two options, behind `=` or in the next word.
fn value(words: &[OsString], names: [&str; 2]) -> Option<String> {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let mut words = words.iter().map(text);
    while let Some(word) = words.next() {
        for name in names {
            match word.strip_prefix(name) {
                Some("") => return words.next(),
                Some(rest) if rest.starts_with('=') => return Some(rest[1..].to_owned()),
                _ => {}
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_setpriv_runs_it_as() {
        let mut caller = Caller::this([]);
        (caller.uid, caller.gid) = (7, 7);
        let of = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let caller = as_whom(caller.clone(), &words);
            (caller.uid, caller.gid)
        };
        assert_eq!(of("setpriv --reuid=5 --clear-groups"), (5, 7));
        assert_eq!(of("/usr/bin/setpriv --ruid 5 --regid=6"), (5, 6));
        assert_eq!(of("setpriv --reuid root"), (0, 7));
        assert_eq!(of("setpriv --reuid nobody-at-all"), (7, 7));
        assert_eq!(of("nice --reuid=5"), (7, 7));
    }
}
