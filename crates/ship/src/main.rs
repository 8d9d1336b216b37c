//! `cargo ship`: see the library crate.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool of the tree"
)]

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use hugetools_ship::args::{Line, Task};
use hugetools_ship::tree::Tree;
use hugetools_ship::{Failure, install, packages};

fn main() -> ExitCode {
    match run(Line::parse()) {
        Ok(output) => {
            print!("{output}");
            ExitCode::SUCCESS
        }
        Err(failure) => {
            eprintln!("hugetools-ship: error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(line: Line) -> Result<String, Failure> {
    let from = line.from.as_deref();
    match line.task {
        Task::Install(place) => {
            let tree = Tree::prepare(from)?;
            install::may_write(&place).map_err(|failure| failure.next(again(Some(&tree))))?;
            install::install(&tree, &place)
        }
        Task::Uninstall(place) => {
            install::may_write(&place).map_err(|failure| failure.next(again(None)))?;
            install::uninstall(&place)
        }
        Task::Packages { kinds, output } => packages::make(&Tree::prepare(from)?, &kinds, output),
    }
}

/// Says how root runs this command again, without cargo: nothing is built twice, and
/// nothing in the tree becomes root's.
fn again(tree: Option<&Tree>) -> String {
    let mut words = vec![std::env::current_exe().unwrap_or_default().into_os_string()];
    words.extend(std::env::args_os().skip(1));
    if let Some(tree) = tree.filter(|_| !words.iter().any(is_from)) {
        words.extend(["--from".into(), tree.built.clone().into()]);
    }
    let words = words.iter().map(|word| word.to_string_lossy());
    format!("sudo {}", words.collect::<Vec<_>>().join(" "))
}

fn is_from(word: &OsString) -> bool {
    word.to_string_lossy().starts_with("--from")
}
