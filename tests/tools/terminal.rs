//! Output on terminals of several widths, and the same in a pipe.

use std::path::Path;
use std::process::Command;

use crate::support::needs::terminal;
use crate::support::tool::{Ran, Run, tool};
use crate::support::tree;

/// Runs a command line in a terminal of this width.
fn on_a_terminal(columns: usize, words: &str) -> Ran {
    let mut script = Command::new("script");
    script.args([
        "-qec",
        &format!("stty rows 24 cols {columns}; {words}"),
        "/dev/null",
    ]);
    let mut ran = script.ran();
    ran.out = ran.out.replace("\r\n", "\n");
    ran
}

fn path(name: &str) -> String {
    tool(name).get_program().to_str().unwrap().to_owned()
}

fn explain(dir: &Path) -> String {
    format!("{} --sysroot {} --explain", path("hugeadm"), dir.display())
}

fn words(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[test]
fn output_fits_the_terminal_and_loses_no_word() {
    if !terminal("widths of terminals") {
        return;
    }
    let dir = tree::machine("x86_64-8node");
    let piped = tool("hugeadm")
        .arg("--sysroot")
        .arg(dir.path())
        .arg("--explain")
        .ran();
    for columns in [40, 80, 200] {
        let ran = on_a_terminal(columns, &explain(dir.path()));
        assert_eq!(ran.status, piped.status, "{ran:?}");
        assert_eq!(words(&ran.out), words(&piped.out), "{columns}");
        // Commands are not wrapped, so that they can be copied; a path cannot be wrapped.
        let too_wide = ran.out.lines().find(|line| {
            let is_command = line.trim_start().starts_with("-> ");
            line.chars().count() > columns && !is_command && words(line).len() > 1
        });
        assert_eq!(too_wide, None, "{columns}");
    }
}

/// Reports from the library, and from hugectl if a signal ends the program.
#[test]
fn a_report_fits_the_terminal() {
    if !terminal("widths of reports") {
        return;
    }
    for end in ["exit 0", "sleep 1.5; kill -9 $$"] {
        for columns in [40, 100] {
            let run = format!("{} --heap --report bash -c '{end}'", path("hugectl"));
            let ran = on_a_terminal(columns, &run);
            assert!(ran.out.contains("segment    mapped kB"), "{end}: {ran:?}");
            let is_wide = |line: &&str| line.chars().count() > columns && words(line).len() > 1;
            let lines = ran
                .out
                .lines()
                .skip_while(|line| !line.contains(", process "));
            assert_eq!(
                lines.clone().find(is_wide),
                None,
                "{end} {columns}: {ran:?}"
            );
        }
    }
}

/// Scripts parse these listings.
#[test]
fn classic_listings_are_the_same_everywhere() {
    if !terminal("listings on a terminal") {
        return;
    }
    let dir = tree::machine("x86_64-8node");
    let listings = ["--pool-list", "--page-sizes-all", "--list-all-mounts"];
    for listing in listings {
        let command = format!(
            "{} --sysroot {} {listing}",
            path("hugeadm"),
            dir.path().display()
        );
        let ran = on_a_terminal(20, &format!("{command} 2>/dev/null"));
        let piped = on_a_terminal(20, &format!("{command} 2>/dev/null | cat"));
        assert_eq!((ran.status, &ran.out), (0, &piped.out), "{listing}");
        assert!(!ran.out.is_empty(), "{listing}");
    }
}
