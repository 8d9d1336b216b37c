//! `cargo ship` installs, uninstalls and packages hugetools; see the library crate.
#![expect(clippy::print_stderr, reason = "a command-line tool")]

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use hugetools_ship::args::{Cli, Task};
use hugetools_ship::tree::Tree;
use hugetools_ship::{Failure, install, packages};

fn main() -> ExitCode {
    let print = |output: String| {
        let mut out = std::io::stdout();
        let printed = out.write_all(output.as_bytes()).and_then(|()| out.flush());
        printed.map_err(|error| Failure::new(format!("standard output: {error}")))
    };
    match run(Cli::parse()).and_then(print) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("hugetools-ship: error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: Cli) -> Result<String, Failure> {
    let built = cli.from.as_deref();
    match cli.task {
        Task::Install(destination) => {
            let tree = Tree::prepare(built)?;
            install::check_writable(&destination)?;
            install::install(&tree, &destination)
        }
        Task::Uninstall(destination) => {
            install::check_writable(&destination)?;
            install::uninstall(&destination)
        }
        Task::Packages { output } => packages::make(&Tree::prepare(built)?, output),
    }
}
