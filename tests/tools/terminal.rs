//! Output on terminals of several widths, with and without colour, and the same in a pipe.

use std::path::Path;
use std::process::Command;

use crate::support::needs::terminal;
use crate::support::tool::{Ran, tool};
use crate::support::tree;

/// Returns the text without control sequences.
fn bare(text: &str) -> String {
    let mut bare = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\x1b') {
        bare += before;
        rest = after.split_once('m').unwrap_or_default().1;
    }
    bare + rest
}

/// Runs a command line in a terminal of this width with additional variables.
fn on_a_terminal(columns: usize, environment: &[&str], words: &str) -> Ran {
    let mut script = Command::new("script");
    script.args([
        "-qec",
        &format!("stty rows 24 cols {columns}; {words}"),
        "/dev/null",
    ]);
    script.env_remove("NO_COLOR").env("TERM", "xterm");
    let environment = environment.iter().filter_map(|word| word.split_once('='));
    script.envs(environment);
    let mut ran: Ran = script.output().unwrap().into();
    ran.out = ran.out.replace("\r\n", "\n");
    ran
}

fn path(name: &str) -> String {
    tool(name).get_program().to_str().unwrap().to_owned()
}

fn explain(dir: &Path, more: &str) -> String {
    format!(
        "{} --sysroot {} --explain {more}",
        path("hugeadm"),
        dir.display()
    )
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
    let piped: Ran = tool("hugeadm")
        .arg("--sysroot")
        .arg(dir.path())
        .arg("--explain")
        .output()
        .unwrap()
        .into();
    assert!(!piped.out.contains('\x1b'), "{piped:?}");
    for columns in [40, 80, 200] {
        let ran = on_a_terminal(columns, &[], &explain(dir.path(), ""));
        assert_eq!(ran.status, piped.status, "{ran:?}");
        let text = bare(&ran.out);
        assert_eq!(words(&text), words(&piped.out), "{columns}");
        // Commands are not wrapped, so that they can be copied; a path cannot be wrapped.
        let too_wide = text.lines().find(|line| {
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
    for end in ["exit 0", "sleep 1; kill -9 $$"] {
        for columns in [40, 100] {
            let run = format!("{} --heap --report bash -c '{end}'", path("hugectl"));
            let ran = on_a_terminal(columns, &[], &run);
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

#[test]
fn colours_on_a_terminal_that_wants_them() {
    if !terminal("colours on terminals") {
        return;
    }
    let dir = tree::machine("x86_64-8node");
    let heading = "\x1b[1mFindings:\x1b[0m\n";
    let tries = [
        (vec![], "", true),
        (vec!["NO_COLOR="], "", true),
        (vec!["NO_COLOR=1"], "", false),
        (vec!["TERM=dumb"], "", false),
        (vec!["NO_COLOR=1"], "--color=always", true),
        (vec![], "--color=auto | cat", false),
        (vec![], "--json --color=always", false),
    ];
    for (environment, more, is_coloured) in tries {
        let ran = on_a_terminal(80, &environment, &explain(dir.path(), more));
        assert_eq!(ran.status, 0, "{ran:?}");
        assert_eq!(ran.out.contains(heading), is_coloured, "{more}: {ran:?}");
        assert_eq!(ran.out.contains('\x1b'), is_coloured, "{more}: {ran:?}");
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
        let ran = on_a_terminal(20, &[], &format!("{command} 2>/dev/null"));
        let piped = on_a_terminal(20, &[], &format!("{command} 2>/dev/null | cat"));
        assert_eq!((ran.status, &ran.out), (0, &piped.out), "{listing}");
        assert!(!ran.out.is_empty(), "{listing}");
    }
}
