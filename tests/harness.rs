//! Runs the tests as the standard harness does. Only, a test may say while it runs that it
//! was skipped, and does not count as passed then.
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

/// What `#[test]` lists.
pub(crate) struct Test {
    pub(crate) name: &'static str,
    pub(crate) run: fn(),
}

inventory::collect!(Test);

/// Why tests were skipped, by name.
static ALL_SKIPPED: Mutex<BTreeMap<&str, String>> = Mutex::new(BTreeMap::new());

/// Runs the tests that the command line asks for.
pub(crate) fn main() -> ExitCode {
    let mut args = Arguments::from_args();
    let threads = env::var("RUST_TEST_THREADS");
    let threads = threads.ok().and_then(|number| number.parse().ok());
    // One more than cores, since some wait for the machine.
    let cores = std::thread::available_parallelism();
    let usual = cores.ok().map(|cores| cores.get() + 1);
    args.test_threads = args.test_threads.or(threads).or(usual);
    let mut tests: Vec<&Test> = inventory::iter::<Test>().collect();
    tests.sort_unstable_by_key(|test| test.name);
    // Mostly those of the second half take the machine, one at a time.
    let rest = tests.split_off(tests.len() / 2);
    let mut first = tests.into_iter();
    let mixed = rest.into_iter().flat_map(|test| [Some(test), first.next()]);
    let trials = mixed.flatten().map(trial).collect();
    let end = libtest_mimic::run(&args, trials);
    let skipped = ALL_SKIPPED.lock().unwrap();
    // crates/ship/tests/skipped.rs prints it at the end of `cargo test`, whose PID is in the
    // name.
    let cargo = std::os::unix::process::parent_id();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("skipped-{cargo}"));
    fs::write(path, summary(end.num_passed, &skipped)).unwrap();
    end.exit_code()
}

fn trial(test: &'static Test) -> Trial {
    let (_, name) = test.name.split_once("::").unwrap();
    Trial::ignorable_test(name, move || {
        (test.run)();
        let Some(why) = take_skipped() else {
            return Ok(Completion::Completed);
        };
        ALL_SKIPPED.lock().unwrap().insert(name, why.clone());
        Ok(Completion::ignored_with(why))
    })
}

/// Returns the skipped tests, and how many there are for each reason.
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
