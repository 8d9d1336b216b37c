//! `cargo ship`: see the library.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a tool of the tree"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use hugetools_ship::args::{Line, What};
use hugetools_ship::tree::Tree;
use hugetools_ship::{Failure, deb, install, rpm};

fn main() -> ExitCode {
    match run(Line::parse()) {
        Ok(said) => {
            print!("{said}");
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
    match line.what {
        What::Install(place) => install::install(&Tree::prepare(from)?, &place),
        What::Uninstall(place) => install::uninstall(&place),
        What::Packages { kinds, output } => packages(&Tree::prepare(from)?, &kinds, output),
    }
}

/// Makes packages; where they lie.
fn packages(tree: &Tree, kinds: &[String], output: Option<PathBuf>) -> Result<String, Failure> {
    let target = tree.built.parent().map(|target| target.join("packages"));
    let output = output.or(target).unwrap_or_else(|| "packages".into());
    std::fs::create_dir_all(&output)
        .map_err(|error| Failure::new(format!("{}: {error}", output.display())))?;
    let wants = |kind: &str| kinds.is_empty() || kinds.iter().any(|named| named == kind);
    let mut made = Vec::new();
    if wants("deb") {
        made.extend(deb::make(tree, &output)?);
    }
    if wants("rpm") {
        made.extend(rpm::make(tree, &output)?);
    }
    Ok(made
        .iter()
        .map(|path| format!("{}\n", path.display()))
        .collect())
}
