//! hugeadm's command lines, from arguments to plan and script, each on one recorded machine.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use hugetools_admin::apply::rehearse;
use hugetools_admin::args::Args;
use hugetools_admin::live::Live;
use hugetools_admin::plan::plan;
use hugetools_admin::plan::shell::script;
use hugetools_admin::report::{messages, status};
use hugetools_admin::request::Request;
use hugetools_model::{Machine, Root, fixture};

use crate::engine::{archives, fuzz, kept_lines};

const WORDS: &[&str] = &[
    "--pool-pages-min",
    "--pool-pages-max",
    "--pool-spread",
    "DEFAULT:",
    "2MB@0-3:",
    "1GB:",
    "+",
    "-",
    "%",
    "--thp-size",
    "64kB:always",
    "--create-mounts",
    "--create-user-mounts=daemon",
    "--max-size",
    "--mount-mode",
    "--unmount",
    "--force",
    "--hard",
    "--add-temp-swap=",
    "--persist",
    "--set-recommended-shmmax",
    "--set-recommended-min_free_kbytes",
    "--thp-never",
    "--hvo=on",
    "--obey-numa",
    "--explain",
    "=",
    " ",
    "*3,1:",
];

#[test]
fn arguments() {
    let trees: Vec<(tempfile::TempDir, Root, Machine)> = archives()
        .iter()
        .map(|archive| {
            let dir = tempfile::tempdir().unwrap();
            fixture::unpack(archive, dir.path()).unwrap();
            let root = Root::at(dir.path()).unwrap();
            let machine = Machine::read(&root).unwrap();
            (dir, root, machine)
        })
        .collect();
    fuzz("arguments", kept_lines("arguments"), WORDS, |text| {
        let words = text
            .split(|byte| *byte == b' ')
            .map(|word| OsString::from_vec(word.to_vec()));
        let argv = std::iter::once(OsString::from("hugeadm"))
            .chain(words)
            .collect();
        let args = match Args::read(argv) {
            Ok(args) => args,
            Err(stop) => return kinds(&[format!("{stop:?}")]),
        };
        // The input selects the machine.
        let tree = text
            .iter()
            .fold(0, |sum: usize, byte| sum + usize::from(*byte))
            % trees.len();
        let (_, root, machine) = &trees[tree];
        let request = match Request::new(&args, machine, &mut Live::new(root.clone())) {
            Ok(request) => request,
            Err(errors) => return kinds(&errors),
        };
        let plan = plan(machine, &request);
        let text = script(&plan, root);
        let steps: usize = plan.tasks.iter().map(|task| task.steps.len()).sum();
        assert!(text.lines().count() >= steps);
        let reports = rehearse(&plan, root);
        let reported: usize = reports.iter().map(|task| task.steps.len()).sum();
        assert_eq!(reported, steps);
        // A predicted failure has a message.
        let failed = status(&reports).code() != 0;
        assert!(!failed || !messages(&reports).is_empty());
        // The script's numbers fit into 64 bits.
        for number in text
            .split_whitespace()
            .filter_map(|word| word.parse::<u128>().ok())
        {
            assert!(number <= u128::from(u64::MAX), "{text}");
        }
        let steps = reports.iter().flat_map(|task| &task.steps);
        let mut actions: Vec<&str> = steps.map(|step| step.action).collect();
        actions.dedup();
        vec![
            actions.join(" "),
            plan.notes.len().to_string(),
            failed.to_string(),
        ]
    });
}

/// Returns the kinds of messages, without names and numbers.
fn kinds(messages: &[String]) -> Vec<String> {
    let kind = |text: &String| {
        let end = text.rsplit(": ").next().unwrap_or_default();
        end.chars()
            .filter(|c| c.is_ascii_lowercase())
            .take(16)
            .collect()
    };
    messages.iter().map(kind).collect()
}
