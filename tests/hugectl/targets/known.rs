//! `--auto`: the table of known programs.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::live::{machine, skip_aloud};
use crate::support::needs::programs;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool, write};

/// A directory for scripts that stand in for programs.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    /// Creates a script that prints whether it got a heap.
    fn program(&self, name: &str) -> PathBuf {
        let path = self.0.path().join(name);
        let text = b"#!/bin/sh\nenv | grep ^HUGETLB_MORECORE= || echo no heap\n";
        write(&path, text);
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    fn run(&self, words: &[&str]) -> Ran {
        let mut command = tool("hugectl");
        command.env("PATH", format!("{}:/usr/bin:/bin", self.0.path().display()));
        command.args(words).ran()
    }
}

#[test]
fn the_options_of_the_table_are_set_and_explicit_options_win() {
    let place = Place::new();
    for name in ["php", "ruby", "whatever"] {
        place.program(name);
    }
    let php = "--auto chooses --anon --heap=thp for PHP: the memory of scripts comes from mmap";
    let ruby = "hugectl: info: Ruby: it turns transparent huge pages off for itself";
    let other = "--auto chooses --heap for an unknown program: ";
    for (words, heap, message) in [
        (&["--auto", "php"][..], "thp", php),
        (&["--auto", "nice", "php"], "thp", php),
        (&["--auto", "ruby"], "yes", ruby),
        (&["--auto", "whatever"], "yes", other),
        (&["--auto", "--heap", "php"], "yes", php),
        (&["--heap", "--auto", "php"], "yes", php),
    ] {
        let ran = place.run(words);
        assert_eq!(ran.status, 0, "{words:?}: {ran:?}");
        assert!(ran.err.contains(message), "{words:?}: {ran:?}");
        let set = ran.out.trim_end().strip_prefix("HUGETLB_MORECORE=");
        let is_thp = set.map(|value| value == "thp");
        assert_eq!(is_thp, Some(heap == "thp"), "{words:?}: {ran:?}");
    }
    let hugectl = tool("hugectl");
    let inner = hugectl.get_program().to_str().unwrap();
    let inherited = place.run(&["--thp", inner, "--auto", "ruby"]);
    assert_eq!(inherited.out, "HUGETLB_MORECORE=thp\n", "{inherited:?}");
    let quiet = place.run(&["-q", "--auto", "php"]);
    assert_eq!(quiet.err, "", "{quiet:?}");
}

/// `--auto` chooses only options that can take effect, so it never causes a shortfall.
#[test]
fn auto_gives_no_heap_to_a_program_with_its_own_malloc() {
    let Some(_live) = machine("a choice for a program with its own malloc") else {
        return;
    };
    let Some(own) = build("own_memory", Libc::Glibc, &["-fno-builtin", "-DOWN"]) else {
        return;
    };
    let place = Place::new();
    let own = own.to_str().unwrap();
    let ran = place.run(&["--auto", "--explain", own]);
    assert_eq!(ran.status, 0, "{ran:?}");
    assert!(ran.out.contains("--auto chooses nothing"), "{ran:?}");
    assert!(ran.out.contains("defines malloc"), "{ran:?}");
    assert!(!ran.out.contains("--anon"), "{ran:?}");
    // An explicit --heap falls short.
    let ran = place.run(&["--auto", "--heap", "--explain", own]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(!ran.out.contains("--anon reaches"), "{ran:?}");
}

#[test]
fn explanations_show_the_entry() {
    let place = Place::new();
    place.program("ruby");
    let caveat = "it turns transparent huge pages off for itself: without";
    let ran = place.run(&["--explain", "ruby"]);
    for line in [
        format!("* Ruby: {caveat}"),
        "* --auto would choose --heap for Ruby: it allocates with malloc".to_owned(),
    ] {
        assert!(ran.out.contains(&line), "{ran:?}");
    }
    let ran = place.run(&["--explain", "--json", "ruby"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let program = &json["program"];
    assert_eq!(program["known"], "Ruby", "{json}");
    assert_eq!(program["auto"], serde_json::json!(["--heap"]), "{json}");
    assert!(program["caveat"].as_str().unwrap().starts_with(caveat));
}

/// Ruby disables transparent huge pages by prctl; `--thp-policy=always` ignores that.
#[test]
fn a_program_that_disables_thp_for_itself_falls_short() {
    let Some(live) = machine("prediction of a program's own prctl") else {
        return;
    };
    if !live.can_use_thp() {
        return skip_aloud("transparent huge pages are off");
    }
    let place = Place::new();
    place.program("ruby");
    let ban = "the program turns transparent huge pages off for itself";
    let ran = place.run(&["--anon", "--explain", "ruby"]);
    assert_eq!(ran.status, 3, "{ran:?}");
    assert!(ran.out.contains(ban), "{ran:?}");
    let lifted = ["--anon", "--thp-policy=always", "--explain", "ruby"];
    let ran = place.run(&lifted);
    assert!(!ran.out.contains(ban), "{ran:?}");
    assert!(ran.out.contains("anon     default  transparent"), "{ran:?}");
    // hugectl does not warn at a start: the library warns after the prctl.
    let ran = place.run(&["--anon", "ruby"]);
    assert!(!ran.err.contains(ban), "{ran:?}");
}

#[test]
fn auto_is_only_for_started_programs() {
    let place = Place::new();
    for (words, error) in [
        (&["--auto"][..], "which program?"),
        (
            &["--auto", "--status", "1"],
            "--auto has no meaning with it",
        ),
        (&["--auto", "--pid", "1"], "--auto has no meaning with it"),
        (&["--auto", "--emit=docker", "sh"], "--auto has no meaning"),
        (
            &["--auto", "no-such-program"],
            "cannot find no-such-program",
        ),
    ] {
        let ran = place.run(words);
        assert!(ran.status >= 125, "{words:?}: {ran:?}");
        assert!(ran.err.contains(error), "{words:?}: {ran:?}");
    }
}

/// Installed programs and the names of their entries.
const INSTALLED: [(&str, &str); 7] = [
    ("java", "Java"),
    ("node", "Node.js"),
    ("php", "PHP"),
    ("python3", "Python"),
    ("redis-server", "Redis"),
    ("mpirun", "Open MPI"),
    ("qemu-system-x86_64", "QEMU"),
];

#[test]
fn programs_as_they_are_installed_are_known() {
    let (_, path) = std::env::vars_os()
        .find(|(name, _)| name == "PATH")
        .unwrap();
    let path = format!("{}:/usr/sbin", Path::new(&path).display());
    for (program, known) in INSTALLED {
        if !programs(&format!("{program} is known"), &[program]) {
            continue;
        }
        let mut command = tool("hugectl");
        command.env("PATH", &path);
        command.args(["--explain", "--json", program, "--version"]);
        let ran = command.ran();
        let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        assert_eq!(json["program"]["known"], known, "{program}: {ran:?}");
    }
}
