//! Runs the tests like the standard harness, except that a running test can report itself as
//! skipped. Skipped tests do not count as passed.
#![expect(
    clippy::disallowed_methods,
    reason = "reads and writes what tests need"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::{env, fs};

use libtest_mimic::{Arguments, Completion, Trial};

use crate::support::live::take_skipped;

/// A test registered by `#[test]`.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) run: fn(),
}

inventory::collect!(Test);

/// Reasons for skipped tests, by name.
static ALL_SKIPPED: Mutex<BTreeMap<&str, String>> = Mutex::new(BTreeMap::new());

/// Runs the selected tests.
pub(crate) fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    let threads = env::var("RUST_TEST_THREADS");
    let threads = threads.ok().and_then(|number| number.parse().ok());
    // Two more than cores, since some tests wait for the machine lock.
    let cores = std::thread::available_parallelism();
    let usual = cores.ok().map(|cores| cores.get() + 2);
    args.test_threads = args.test_threads.or(threads).or(usual);
    let trials = in_order().into_iter().map(trial).collect();
    let end = libtest_mimic::run(&args, trials);
    let skipped = ALL_SKIPPED.lock().unwrap();
    // The PID of `cargo test` names the file; crates/ship/tests/skipped.rs prints it at the end.
    let cargo = std::os::unix::process::parent_id();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("skipped-{cargo}"));
    fs::write(path, summary(end.num_passed, &skipped)).unwrap();
    end.exit_code()
}

/// Parts of names of tests that take 10 s or more, mostly in virtual machines.
const LONG: [&str; 6] = [
    "::nodes::",
    "::guest::",
    "::numa::",
    "::zsh_completes",
    "::every_linker",
    "::debian_packages",
];

/// Returns the tests in an order that keeps all cores busy. The second half by name mostly takes
/// the machine lock, one test at a time, so each is paired with a test of the first half. Every
/// twelfth pair follows a long test.
fn in_order() -> Vec<&'static Test> {
    let is_long = |test: &&Test| LONG.iter().any(|part| test.name.contains(part));
    let all = inventory::iter::<Test>();
    let (mut long, mut short): (Vec<_>, Vec<_>) = all.into_iter().partition(is_long);
    short.sort_unstable_by_key(|test| test.name);
    let second = short.split_off(short.len() / 2);
    let mut first = short.into_iter();
    let mut tests = Vec::new();
    for (at, test) in second.into_iter().enumerate() {
        tests.extend((at % 12 == 0).then(|| long.pop()).flatten());
        tests.push(test);
        tests.extend(first.next());
    }
    tests.extend(long);
    tests
}

fn trial(test: &'static Test) -> Trial {
    let (_, name) = test.name.split_once("::").unwrap();
    Trial::ignorable_test(name, move || {
        // One of an earlier test in this thread that panicked.
        let _ = take_skipped();
        (test.run)();
        let Some(why) = take_skipped() else {
            return Ok(Completion::Completed);
        };
        ALL_SKIPPED.lock().unwrap().insert(name, why.clone());
        Ok(Completion::ignored_with(why))
    })
}

/// Returns a text with the skipped tests and a count of each reason.
fn summary(passed: u64, skipped: &BTreeMap<&str, String>) -> String {
    let mut text = String::new();
    let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, why) in skipped {
        writeln!(text, "skipped {name}: {why}").unwrap();
        *reasons.entry(why).or_default() += 1;
    }
    let all = skipped.len();
    writeln!(
        text,
        "\nintegration tests: {passed} passed, {all} skipped or cut short"
    )
    .unwrap();
    for (why, count) in reasons {
        writeln!(text, "{count:5} {why}").unwrap();
    }
    text
}
