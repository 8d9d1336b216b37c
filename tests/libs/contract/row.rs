//! One row of a table: a program and the states in which it is run.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use super::run::{End, How, run};
use crate::support::live::{Live, can_be_set, machine};
use crate::support::long;
use crate::support::needs::{mounts, others};
use crate::support::program::{Libc, build_as};
use crate::support::still::without_pool;
use crate::support::tool::hugectl;

/// Who runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::libs) enum User {
    Root,
    Nobody,
    /// Nobody, in so many groups that `/proc/PID/status` is longer than a page.
    Crowd,
}

/// No pool, one smaller than the heap, one that holds it once but not twice, and
/// more than enough.
pub(super) const POOLS: &[u64] = &[0, 20, 60, 150];

/// Those with pages.
pub(super) const SERVED: &[u64] = &[20, 60, 150];

/// Those that hold the heap.
pub(super) const HOLDING: &[u64] = &[60, 150];

/// What is expected of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// It says `right`, also when run plainly.
    Right,
    /// It prints what the kernel or libc answers: the same as when run plainly.
    AsPlain,
    /// It says `right`; run plainly it would not, since it is better with us.
    RightHere,
}

/// A program and the states in which it is run.
pub(super) struct Row {
    /// A file of `tests/programs/contract`. Where it is a library as well, that
    /// is built with `-DLIBRARY` and linked.
    pub(super) program: &'static str,
    pub(super) library: bool,
    pub(super) flags: &'static [&'static str],
    pub(super) args: &'static [&'static str],
    /// The command, if it is more than hugectl and the program: `{hugectl}` and
    /// `{program}` stand for these.
    pub(super) words: &'static [&'static str],
    pub(super) environment: &'static [(&'static str, &'static str)],
    pub(super) options: &'static [&'static str],
    pub(super) pools: &'static [u64],
    pub(super) users: &'static [User],
    pub(super) libcs: &'static [Libc],
    pub(super) judged: Judged,
    /// What the machine must have; where it has not, the row is skipped, aloud.
    pub(super) needs: fn(&str) -> bool,
    /// After which it hangs.
    pub(super) seconds: u64,
}

/// What most rows have.
pub(super) const ROW: Row = Row {
    program: "",
    library: false,
    flags: &[],
    args: &[],
    words: &["{hugectl}", "{program}"],
    environment: &[],
    options: &["--heap"],
    pools: POOLS,
    users: &[User::Root, User::Nobody],
    libcs: &Libc::ALL,
    judged: Judged::Right,
    needs: |_| true,
    seconds: 10,
};

/// A test for each row.
macro_rules! rows {
    ($($(#[$about:meta])* $name:ident: $program:literal { $($field:ident: $value:expr),* $(,)? })*) => {
        $(
            $(#[$about])*
            #[test]
            fn $name() {
                super::row::hold(stringify!($name), &super::row::Row {
                    program: $program,
                    $($field: $value,)*
                    ..super::row::ROW
                });
            }
        )*
    };
}
pub(super) use rows;

/// One of the states.
#[derive(Debug, Clone, Copy)]
struct State {
    pool: u64,
    user: User,
    libc: Libc,
}

impl Row {
    /// All combinations in a long run, else each state once. A short one has one: with the
    /// most pages as root, or with fewer as nobody, half of the rows each.
    fn states(&self, test: &str) -> Vec<State> {
        let long = long::length() > Duration::from_secs(20);
        let lengths = [self.pools.len(), self.users.len(), self.libcs.len()];
        let once = lengths.into_iter().max().unwrap();
        let states = match long::length().as_secs() {
            0..20 => {
                let at = test.len() % once.min(2);
                at..at + 1
            }
            20 => 0..once,
            _ => 0..lengths.iter().product(),
        };
        let state = |at: usize| State {
            user: self.users[at % self.users.len()],
            libc: self.libcs[at / self.users.len() % self.libcs.len()],
            pool: match long {
                true => self.pools[at / self.users.len() / self.libcs.len()],
                // From behind, where there is more to do.
                false => self.pools[self.pools.len() - 1 - at % self.pools.len()],
            },
        };
        states.map(state).collect()
    }

    fn build(&self, libc: Libc) -> Option<PathBuf> {
        let path = format!("contract/{}", self.program);
        let words: String = self.flags.concat().replace(['/', ' '], "");
        let name = format!("contract-{}-{libc:?}{words}", self.program);
        if !self.library {
            return build_as(&name, &path, libc, self.flags);
        }
        let flags = [self.flags, &["-DLIBRARY", "-shared", "-fPIC"]].concat();
        let library = build_as(&format!("lib{name}.so"), &path, libc, &flags)?;
        let flags = [
            self.flags,
            &["-Wl,--no-as-needed", library.to_str().unwrap()],
        ]
        .concat();
        build_as(&name, &path, libc, &flags)
    }

    /// The command, with these words for hugectl.
    fn command(&self, hugectl: &[&str], program: &Path, state: State) -> Command {
        let mut command = as_user(state.user);
        for word in self.words {
            match *word {
                "{hugectl}" => command.args(hugectl),
                "{program}" => command.arg(program),
                word => command.arg(word),
            };
        }
        command.args(self.args);
        command.env_clear().envs(self.environment.iter().copied());
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        command.env("LC_ALL", "C").current_dir("/");
        if long::length() < Duration::from_secs(20) {
            command.env("CONTRACT_SHORT", "1");
        }
        if !hugectl.is_empty() {
            command.env("CONTRACT_WITH_US", "1");
        }
        // The program looks whether it is where the test wants it.
        if state.pool > 0 && self.options.contains(&"--heap") && !hugectl.is_empty() {
            command.env("CONTRACT_ON_POOL", "1");
        }
        command
    }

    fn time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }

    /// What the program says without us, which must be right.
    fn plain(&self, program: &Path, state: State) -> String {
        if self.judged == Judged::RightHere {
            return "right\n".to_owned();
        }
        let end = run(&mut self.command(&[], program, state), self.time());
        let right = self.judged == Judged::AsPlain || end.out == "right\n";
        assert!(
            end.how == How::Status(0) && right,
            "{} {:?} run plainly, {state:?}: {end:?}",
            self.program,
            self.args,
        );
        end.out
    }

    /// How it ends with such a pool, and what that has lost. The machine is taken for each
    /// state, so that others get their turn.
    fn with_pool(&self, test: &str, program: &Path, state: State) -> Option<(End, Option<String>)> {
        if state.pool == 0 {
            let _still = without_pool(test)?;
            return Some((self.under_hugectl(program, state), None));
        }
        let live = machine(test)?;
        live.set_pool(state.pool);
        // What was killed in the test before gives its pages back by and by.
        let free = live.free_pages_at_last(state.pool);
        let end = self.under_hugectl(program, state);
        Some((end, kept(&live, free)))
    }

    fn under_hugectl(&self, program: &Path, state: State) -> End {
        let hugectl = [&[hugectl().to_str().unwrap()], self.options].concat();
        run(&mut self.command(&hugectl, program, state), self.time())
    }
}

/// The begin of a command that a user runs.
pub(in crate::libs) fn as_user(user: User) -> Command {
    let mut command = Command::new(match user {
        User::Root => "env",
        User::Nobody | User::Crowd => "setpriv",
    });
    let groups = match user {
        User::Root => return command,
        User::Nobody => "--clear-groups",
        User::Crowd => crowd(),
    };
    command.args(["--reuid=65534", "--regid=65534", groups]);
    command
}

/// The option of setpriv for 330 groups.
fn crowd() -> &'static str {
    static OPTION: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    OPTION.get_or_init(|| {
        let groups: Vec<String> = (0..330)
            .map(|group| (1_000_000 + group).to_string())
            .collect();
        format!("--groups={}", groups.join(","))
    })
}

/// Runs a program in all states of its row. All that differ are told at once.
pub(super) fn hold(test: &str, row: &Row) {
    let mut wrong = Vec::new();
    let mut plain = None;
    let own_mounts = row.words.contains(&"unshare");
    if !can_be_set(test) || !(row.needs)(test) || own_mounts && !mounts(test) {
        return;
    }
    for state in row.states(test) {
        let Some(program) = row.build(state.libc) else {
            return;
        };
        if state.user != User::Root && !others(test, &program) {
            return;
        }
        // It leaves the pool alone.
        let expected = plain.get_or_insert_with(|| row.plain(&program, state));
        let Some((end, lost)) = row.with_pool(test, &program, state) else {
            return;
        };
        if end.how != How::Status(0) || end.out != *expected {
            wrong.push(format!("{state:?}: {end:#?}"));
        }
        wrong.extend(lost.map(|what| format!("{state:?}: {what}")));
    }
    assert!(
        wrong.is_empty(),
        "{} {:?} of hugectl {:?}, {} states are wrong:\n{}",
        row.program,
        row.args,
        row.options,
        wrong.len(),
        wrong.join("\n")
    );
}

/// What is wrong with the pool after a run: every page has come back, at once
/// or, where a device had it, soon.
fn kept(live: &Live, before: u64) -> Option<String> {
    let end = Instant::now() + Duration::from_secs(3);
    while live.free_pages() < before {
        if Instant::now() > end {
            let free = live.free_pages();
            return Some(format!("{free} of {before} pages are free afterwards"));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    None
}
