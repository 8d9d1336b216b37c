//! `--thp-policy`: whether a program and all that it starts have transparent huge
//! pages. The process says so of itself before it becomes the program, which needs no
//! right; children inherit it, and it outlives `execve(2)`.

use hugetools_model::Root;
use hugetools_model::process::{self, Pid};
use hugetools_model::root::error::describe_errno;
use hugetools_model::thp::Thp;

use crate::caller::Caller;
use crate::caller::filter::Answer;
use crate::say::failure::Failure;
use crate::sys::thp::{Ban, ban};

/// What becomes of transparent huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThpPolicy {
    /// As the machine has them, whatever was inherited.
    Always,
    /// Where the program asks for them only.
    Advised,
    /// Nowhere.
    Never,
}

impl ThpPolicy {
    /// The policy of this word.
    pub fn of_word(word: &str) -> Option<ThpPolicy> {
        let all = [ThpPolicy::Always, ThpPolicy::Advised, ThpPolicy::Never];
        all.into_iter().find(|policy| policy.word() == word)
    }

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            ThpPolicy::Always => "always",
            ThpPolicy::Advised => "advised",
            ThpPolicy::Never => "never",
        }
    }

    /// What will come short of the word, if anything does.
    ///
    /// # Errors
    /// When the call that sets it would end hugectl.
    pub fn short(self, root: &Root, caller: &Caller) -> Result<Option<String>, Failure> {
        match caller.filter.prctl {
            Answer::Ends => Err(self.ended()),
            _ => Ok(self.short_of(mode(root).as_deref(), is_banned(root))),
        }
    }

    /// Sets it for this process, and so for the program. What comes short, if anything does.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn set(self) -> Result<Option<String>, Failure> {
        let set = match self {
            ThpPolicy::Always => ban(Ban::Lifted),
            ThpPolicy::Advised => ban(Ban::ExceptAdvised),
            ThpPolicy::Never => ban(Ban::Complete),
        };
        match set {
            Ok(()) => Ok(None),
            Err(error) if self == ThpPolicy::Advised => Ok(Some(format!(
                "--thp-policy=advised: this kernel does not have it ({}), nothing was changed\n  \
                 Linux 6.18 has it (PR_THP_DISABLE_EXCEPT_ADVISED)",
                describe_errno(error.raw_os_error().unwrap_or(0))
            ))),
            Err(error) => Err(Failure::Own(format!(
                "--thp-policy={}: prctl(PR_SET_THP_DISABLE): {}",
                self.word(),
                describe_errno(error.raw_os_error().unwrap_or(0))
            ))),
        }
    }

    /// Where the call would end hugectl.
    fn ended(self) -> Failure {
        Failure::Own(format!(
            "--thp-policy={}: a filter of system calls (seccomp) ends whoever calls prctl, which \
             sets it\n  start it without that filter, or allow prctl in it",
            self.word()
        ))
    }

    /// What a machine whose `enabled` is this word leaves to be desired. A ban that was
    /// lifted is all that was to be had.
    fn short_of(self, mode: Option<&str>, was_banned: bool) -> Option<String> {
        match (self, mode) {
            (ThpPolicy::Always, Some("always")) | (ThpPolicy::Never, _) => None,
            (ThpPolicy::Always, Some("madvise")) if was_banned => None,
            (ThpPolicy::Always, None) => {
                Some("--thp-policy=always: the kernel has no transparent huge pages".to_owned())
            }
            (ThpPolicy::Always, Some(mode)) => Some(format!(
                "--thp-policy=always lifts bans only, inherited ones and the program's own: \
                 transparent huge pages are set to {mode}, which no prctl changes\n  hugeadm --thp-always changes it, and hugectl \
                 --pid reaches the program once it runs"
            )),
            (ThpPolicy::Advised, Some("never") | None) => Some(
                "--thp-policy=advised: there are no transparent huge pages on this machine\n  \
                 hugeadm --thp-madvise lets programs ask for them"
                    .to_owned(),
            ),
            (ThpPolicy::Advised, Some(_)) => None,
        }
    }

    /// A line for a dry run, since no shell has a command for it.
    pub fn comment(self) -> String {
        let word = self.word();
        format!("# by prctl(PR_SET_THP_DISABLE), which no shell has: --thp-policy={word}\n")
    }
}

/// Whether this process has inherited a ban.
fn is_banned(root: &Root) -> bool {
    let own = Pid::new(std::process::id());
    let enabled = own.map(|pid| process::thp_enabled(root, pid));
    enabled.is_some_and(|enabled| enabled.unwrap_or(None) == Some(false))
}

fn mode(root: &Root) -> Option<String> {
    Thp::read(root).ok().flatten()?.enabled
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_what_they_come_short_of() {
        for word in ["always", "advised", "never"] {
            assert_eq!(ThpPolicy::of_word(word).map(ThpPolicy::word), Some(word));
        }
        assert_eq!(ThpPolicy::of_word("madvise"), None);
        let short = |policy: ThpPolicy, mode| policy.short_of(mode, false).unwrap_or_default();
        assert_eq!(short(ThpPolicy::Always, Some("always")), "");
        assert!(short(ThpPolicy::Always, Some("madvise")).contains("set to madvise"));
        assert_eq!(ThpPolicy::Always.short_of(Some("madvise"), true), None);
        assert_eq!(short(ThpPolicy::Advised, Some("madvise")), "");
        assert!(short(ThpPolicy::Advised, Some("never")).contains("there are no"));
        assert_eq!(short(ThpPolicy::Never, Some("always")), "");
    }
}
