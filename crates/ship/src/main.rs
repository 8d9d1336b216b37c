//! `cargo ship`: see the library crate.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool of the tree"
)]

use std::process::ExitCode;

use clap::Parser;
use hugetools_ship::args::{Cli, Task};
use hugetools_ship::tree::Tree;
use hugetools_ship::{Failure, install, packages};

fn main() -> ExitCode {
    match run(Cli::parse()) {
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

fn run(cli: Cli) -> Result<String, Failure> {
    let from = cli.from.as_deref();
    match cli.task {
        Task::Install(place) => {
            let tree = Tree::prepare(from)?;
            install::may_write(&place)?;
            install::install(&tree, &place)
        }
        Task::Uninstall(place) => {
            install::may_write(&place)?;
            install::uninstall(&place)
        }
        Task::Packages { output } => packages::make(&Tree::prepare(from)?, output),
    }
}
