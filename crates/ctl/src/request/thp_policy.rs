//! `--thp-policy`: whether a program and its children get transparent huge pages. hugectl sets the
//! policy by prctl before it becomes the program; children and `execve(2)` inherit it.

use hugetools_model::Root;
use hugetools_model::process::{self, Pid};
use hugetools_model::root::error::describe;
use hugetools_model::thp::Thp;

use crate::caller::Caller;
use crate::say::failure::Failure;
use crate::sys::thp;

/// The policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThpPolicy {
    /// No ban: the settings of the system apply.
    Always,
    /// Only for advised memory.
    Advised,
    /// None.
    Never,
}

impl ThpPolicy {
    pub(crate) fn of_word(word: &str) -> Option<ThpPolicy> {
        let all = [ThpPolicy::Always, ThpPolicy::Advised, ThpPolicy::Never];
        all.into_iter().find(|policy| policy.word() == word)
    }

    pub(crate) fn word(self) -> &'static str {
        match self {
            ThpPolicy::Always => "always",
            ThpPolicy::Advised => "advised",
            ThpPolicy::Never => "never",
        }
    }

    /// Returns why the system's settings leave the policy without effect, or `None`. `bans_thp`
    /// says that the program is known to turn transparent huge pages off for itself.
    pub(crate) fn short(self, root: &Root, caller: &Caller, bans_thp: bool) -> Option<String> {
        let thp = Thp::read(root).ok().flatten();
        let mode = thp.and_then(|thp| thp.enabled);
        let enabled = Pid::new(caller.pid).map(|pid| process::thp_enabled(root, pid));
        let was_banned = matches!(enabled, Some(Ok(Some(false))));
        Some(match (self, mode.as_deref()) {
            (ThpPolicy::Always, Some("always")) | (ThpPolicy::Never, _) => return None,
            // No prctl can do more than lift the ban.
            (ThpPolicy::Always, Some("madvise")) if was_banned || bans_thp => return None,
            (ThpPolicy::Always, None) => {
                "--thp-policy=always: the kernel has no transparent huge pages".to_owned()
            }
            (ThpPolicy::Always, Some(mode)) => format!(
                "--thp-policy=always lifts bans only, inherited ones and the program's own: \
                 transparent huge pages are set to {mode}, which no prctl changes\n  hugeadm \
                 --thp-always changes it, and hugectl --pid reaches the program once it runs"
            ),
            (ThpPolicy::Advised, Some("never") | None) => {
                "--thp-policy=advised: there are no transparent huge pages on this machine\n  \
                 hugeadm --thp-madvise lets programs ask for them"
                    .to_owned()
            }
            (ThpPolicy::Advised, Some(_)) => return None,
        })
    }

    /// Sets the policy for this process. Returns a shortfall, if any.
    pub(crate) fn set(self) -> Result<Option<String>, Failure> {
        let set = match self {
            ThpPolicy::Always => thp::set_disabled(false, 0),
            ThpPolicy::Advised => thp::set_disabled(true, thp::EXCEPT_ADVISED),
            ThpPolicy::Never => thp::set_disabled(true, 0),
        };
        let Err(error) = set else {
            return Ok(None);
        };
        let error = describe(&error);
        match self {
            ThpPolicy::Advised => Ok(Some(format!(
                "--thp-policy=advised: this kernel does not have it ({error}), nothing was \
                 changed\n  Linux 6.18 has it (PR_THP_DISABLE_EXCEPT_ADVISED)"
            ))),
            ThpPolicy::Always | ThpPolicy::Never => Err(Failure::Own(format!(
                "--thp-policy={}: prctl(PR_SET_THP_DISABLE): {error}",
                self.word()
            ))),
        }
    }

    /// Returns a comment for a dry run, since no shell command sets the policy.
    pub fn comment(self) -> String {
        let word = self.word();
        format!("# by prctl(PR_SET_THP_DISABLE), which no shell has: --thp-policy={word}\n")
    }
}
