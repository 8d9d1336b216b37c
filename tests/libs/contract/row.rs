//! A row of the table: a program and the states it runs in.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::run::{End, How, run};
use crate::support::empty_pool::empty_pool_machine;
use crate::support::live::{can_be_set, machine};
use crate::support::needs::nobody_can_run;
use crate::support::open_ended;
use crate::support::program::{Libc, build_as};
use crate::support::tool::hugectl;

/// The user who runs a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::libs) enum User {
    Root,
    Nobody,
}

/// The expected output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judged {
    /// `right`.
    Right,
    /// The output of a run without hugectl.
    AsPlain,
}

/// A program and the states it runs in.
pub(super) struct Row {
    /// A file of `tests/programs/contract`.
    pub(super) program: &'static str,
    /// Whether the file is also built as a library, with `-DLIBRARY`, and linked.
    pub(super) library: bool,
    pub(super) flags: &'static [&'static str],
    pub(super) args: &'static [&'static str],
    /// The command; `{hugectl}` and `{program}` are replaced.
    pub(super) words: &'static [&'static str],
    pub(super) options: &'static [&'static str],
    pub(super) pools: &'static [u64],
    pub(super) users: &'static [User],
    pub(super) libcs: &'static [Libc],
    pub(super) judged: Judged,
    /// Number of states in a short run, at most 2.
    pub(super) short: usize,
}

/// The defaults.
pub(super) const ROW: Row = Row {
    program: "",
    library: false,
    flags: &[],
    args: &[],
    words: &["{hugectl}", "{program}"],
    options: &["--heap"],
    pools: &[0, 20, 60, 150],
    users: &[User::Root, User::Nobody],
    libcs: &Libc::ALL,
    judged: Judged::Right,
    short: 1,
};

/// Defines a test for each row.
macro_rules! rows {
    ($($name:ident: $program:literal { $($field:ident: $value:expr),* $(,)? })*) => {
        $(
            #[test]
            fn $name() {
                row::check(stringify!($name), &row::Row {
                    program: $program,
                    $($field: $value,)*
                    ..row::ROW
                });
            }
        )*
    };
}
pub(super) use rows;

/// A combination of pool, user and libc.
#[derive(Debug, Clone, Copy)]
struct State {
    pool: u64,
    user: User,
    libc: Libc,
}

impl Row {
    /// Returns the states of this run. In a short run of one state, the length of the test's name
    /// decides: root, glibc and the largest pool, or nobody, musl and the next smaller pool.
    fn states(&self, test: &str) -> Vec<State> {
        let long = open_ended::duration() > Duration::from_secs(20);
        let lengths = [self.pools.len(), self.users.len(), self.libcs.len()];
        let once = lengths.into_iter().max().unwrap();
        let states = match open_ended::duration().as_secs() {
            0..20 if self.short > 1 => 0..once.min(self.short),
            0..20 => {
                let at = test.len() % once.min(2);
                at..at + 1
            }
            20 => 0..once,
            _ => 0..lengths.iter().product(),
        };
        let state = |at: usize| State {
            user: self.users[at % self.users.len()],
            libc: match long {
                true => self.libcs[at / self.users.len() % self.libcs.len()],
                false => self.libcs[at % self.libcs.len()],
            },
            pool: match long {
                true => self.pools[at / self.users.len() / self.libcs.len()],
                false => self.pools[self.pools.len() - 1 - at % self.pools.len()],
            },
        };
        states.map(state).collect()
    }

    fn build(&self, libc: Libc) -> Option<PathBuf> {
        let path = format!("contract/{}", self.program);
        let name = format!("contract-{}-{libc:?}{}", self.program, self.flags.concat());
        if !self.library {
            return build_as(&name, &path, libc, self.flags);
        }
        let flags = ["-DLIBRARY", "-shared", "-fPIC"];
        let library = build_as(&format!("lib{name}.so"), &path, libc, &flags)?;
        let flags = ["-Wl,--no-as-needed", library.to_str().unwrap()];
        build_as(&name, &path, libc, &flags)
    }

    /// Returns the command; `hugectl` is empty for a plain run.
    fn command(&self, hugectl: &[&str], program: &Path, state: State) -> Command {
        let mut command = as_user(state.user);
        for word in self.words {
            match *word {
                "{hugectl}" => command.args(hugectl),
                "{program}" => command.arg(program),
                word => command.arg(word),
            };
        }
        command.args(self.args).env_clear();
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        command.env("LC_ALL", "C").current_dir("/");
        // `fill_heap` in contract.h and forks.c then check that memory is on the pool.
        let uses_pool = self
            .options
            .iter()
            .any(|option| ["--heap", "--data"].contains(option));
        if state.pool > 0 && uses_pool && !hugectl.is_empty() {
            command.env("CONTRACT_ON_POOL", "1");
        }
        command
    }

    /// Whether the output is known without a plain run. The shortest run trusts the programs.
    fn is_known(&self) -> bool {
        self.judged == Judged::Right && open_ended::duration().as_secs() <= 1
    }

    /// Runs without hugectl and returns the output.
    fn plain(&self, program: &Path, state: State) -> String {
        let end = run(&mut self.command(&[], program, state));
        let right = self.judged == Judged::AsPlain || end.out == "right\n";
        assert!(
            end.how == How::Status(0) && right,
            "{} {:?} without hugectl, {state:?}: {end:?}",
            self.program,
            self.args,
        );
        end.out
    }

    /// Runs with this state's pool. Returns the end, and an error if pages are missing
    /// afterwards. Takes the machine for one state at a time, so that other tests get it.
    fn with_pool(&self, test: &str, program: &Path, state: State) -> Option<(End, Option<String>)> {
        if state.pool == 0 {
            let _machine = empty_pool_machine(test)?;
            return Some((self.under_hugectl(program, state), None));
        }
        let live = machine(test)?;
        live.set_pool(state.pool);
        let before = live.wait_for_free_pages(state.pool);
        let end = self.under_hugectl(program, state);
        let free = live.wait_for_free_pages(before);
        let lost = (free < before).then(|| format!("{free} of {before} pages are free afterwards"));
        Some((end, lost))
    }

    fn under_hugectl(&self, program: &Path, state: State) -> End {
        let hugectl = [&[hugectl().to_str().unwrap()], self.options].concat();
        run(&mut self.command(&hugectl, program, state))
    }
}

/// Returns the start of a command that becomes this user.
pub(in crate::libs) fn as_user(user: User) -> Command {
    if user == User::Root {
        return Command::new("env");
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command
}

/// Runs a row's program in the states of this run and reports all failures at once.
pub(super) fn check(test: &str, row: &Row) {
    let mut wrong = Vec::new();
    let mut plain = None;
    if !can_be_set(test) {
        return;
    }
    for state in row.states(test) {
        let Some(program) = row.build(state.libc) else {
            return;
        };
        if state.user != User::Root && !nobody_can_run(test, &program) {
            return;
        }
        let expected = plain.get_or_insert_with(|| match row.is_known() {
            true => "right\n".to_owned(),
            false => row.plain(&program, state),
        });
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
        "{} {:?} under hugectl {:?} fails in {} states:\n{}",
        row.program,
        row.args,
        row.options,
        wrong.len(),
        wrong.join("\n")
    );
}
