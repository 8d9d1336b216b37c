//! All of the contract together, drawn from a seed: `random.c` says what is
//! drawn, and this what it is run in: a pool that is short, and that others
//! change meanwhile. The seeds of the lists hold always: `.ci/run` tries each with
//! one libc and one user, a run of more than 20 seconds (`HUGETOOLS_SECONDS`) with
//! all, and goes on with new ones. A failure tells the episode's own, by which
//! `random --episode SEED` tries it again.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, SystemTime};

use super::row::{User, as_user};
use super::run::{End, How, run};
use crate::support::live::{Live, machine};
use crate::support::long;
use crate::support::needs::others;
use crate::support::program::{Libc, build_as};
use crate::support::tool::hugectl;

/// Episodes of one thread, three of them alone in their process. Of these, and of
/// those below, the first is for glibc and root, then come nobody, musl and root,
/// musl and nobody, and so on. A short run takes the first four.
const SEEDS: [u64; 6] = [4000, 4012, 4021, 4050, 4048, 4065];

/// The same with buffers that devices write to.
const SEEDS_WITH_DEVICES: [u64; 14] = [
    277_870_271_623,
    277_442_779_953,
    100_000,
    277_409_831_428,
    100_177,
    277_376_990_770,
    100_263,
    1_439_615_774_121,
    30_409_340_210_528,
    1_439_615_774_121,
    639_701_843_895,
    18_535_337_044_856,
    397_729_647_819,
    493_562_528_637,
];

/// Without buffers that devices write to.
const PLAIN: &[&str] = &["--without", "pins"];

/// With all that can be drawn.
const ALL: &[&str] = &[];

/// Pages of the pool, one after the other.
const POOL: [u64; 8] = [40, 20, 40, 0, 40, 60, 10, 40];

/// After so long an episode, which lasts two and a half seconds at most, hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// A program and the plugin that it loads.
struct Random {
    program: PathBuf,
    plugin: PathBuf,
    /// What is left out.
    without: &'static [&'static str],
}

impl Random {
    fn build(libc: Libc, without: &'static [&'static str]) -> Option<Random> {
        let build = |what: &str, flags: &[&str]| {
            let path = format!("contract/{what}");
            build_as(&format!("contract-{what}-{libc:?}"), &path, libc, flags)
        };
        Some(Random {
            program: build("random", &[])?,
            plugin: build("random_plugin", &["-shared", "-fPIC"])?,
            without,
        })
    }

    fn command(&self, user: User, words: &[&str]) -> Command {
        let mut command = as_user(user);
        command.arg(hugectl()).args(["-q", "--heap", "--shm"]);
        command.arg(&self.program).arg("--plugin").arg(&self.plugin);
        command.args(words).args(self.without);
        command.env_clear().env("LC_ALL", "C").current_dir("/");
        command.env("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin");
        command
    }

    /// Runs it with these words while the pool changes.
    fn run(&self, live: &Live, user: User, words: &[&str], limit: Duration) {
        let mut command = self.command(user, words);
        let end = on_a_changing_pool(live, &mut command, limit);
        assert!(end.how == How::Status(0), "{command:?}: {end:#?}");
    }
}

fn on_a_changing_pool(live: &Live, command: &mut Command, limit: Duration) -> End {
    live.set_pool(POOL[0]);
    std::thread::scope(|scope| {
        let running = scope.spawn(|| run(command, limit));
        for pages in POOL.iter().cycle() {
            if running.is_finished() {
                break;
            }
            // It stays larger than that while more pages are in use.
            live.hugeadm(&["--pool-pages-min", &format!("DEFAULT:{pages}")]);
            std::thread::sleep(Duration::from_millis(300));
        }
        running.join().unwrap()
    })
}

/// One that nobody has tried.
fn new_seed() -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    (now.unwrap().as_micros() % 1_000_000_000_000).to_string()
}

#[test]
fn whatever_is_drawn_is_right() {
    draw(PLAIN, &SEEDS);
}

#[test]
fn whatever_is_drawn_with_devices_is_right() {
    draw(ALL, &SEEDS_WITH_DEVICES);
}

/// Who runs it, with each libc.
const USERS: [User; 2] = [User::Root, User::Nobody];

/// The seeds that a combination of libc and user is tried with.
fn of_combination(number: usize, seeds: &[u64]) -> Vec<u64> {
    let combinations = USERS.len() * Libc::ALL.len();
    let turn = seeds.iter().skip(number).step_by(combinations);
    match long::length().as_secs() {
        0..20 => turn.take(1).copied().collect(),
        20 => turn.copied().collect(),
        _ => seeds.to_vec(),
    }
}

fn draw(without: &'static [&'static str], seeds: &[u64]) {
    let length = long::length();
    let users = |libc| USERS.map(|user| (libc, user));
    for (number, (libc, user)) in Libc::ALL.into_iter().flat_map(users).enumerate() {
        let Some(random) = Random::build(libc, without) else {
            return;
        };
        // For each, so that others get their turn.
        let Some(live) = machine("the contract at random") else {
            return;
        };
        if user != User::Root && !others("the contract at random", &random.program) {
            continue;
        }
        for seed in of_combination(number, seeds) {
            random.run(&live, user, &["--episode", &seed.to_string()], LIMIT);
        }
        if length > Duration::from_secs(20) {
            let (seed, seconds) = (new_seed(), length.as_secs().to_string());
            let words = ["--seed", &seed, "--seconds", &seconds];
            random.run(&live, user, &words, length + LIMIT);
        }
    }
}
