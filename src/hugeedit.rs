//! hugeedit: what goes in, what comes out, and the exit status.

pub mod args;
pub mod document;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use hugetools_elf::Marks;
use hugetools_link::report::Report;
use hugetools_link::{Change, Failure, file};

use crate::log::Log;
use crate::{console, usage};
use args::Args;
use document::Document;

/// Warnings are shown; there is no option to say more or less.
const LOG: Log = Log {
    prefix: "hugeedit: ",
    verbosity: 2,
};

const FAILED: u8 = 1;
const USAGE: u8 = 2;

/// The whole program.
pub fn main() -> ExitCode {
    ExitCode::from(run(std::env::args_os().collect()))
}

fn run(argv: Vec<OsString>) -> u8 {
    match Args::try_parse_from(argv) {
        Ok(args) => end(&args, work(&args)),
        Err(error) => no_args(&error),
    }
}

/// Help, version, and what is wrong with a command line.
fn no_args(error: &clap::Error) -> u8 {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            print(&(error.to_string().trim_end().to_owned() + "\n"))
        }
        _ => {
            let text = usage::explain(error, &Args::command());
            LOG.error(&format!("{text}\n  hugeedit --help explains the options"));
            USAGE
        }
    }
}

fn work(args: &Args) -> Result<Report, Failure> {
    let change = Change {
        marks: (args.text || args.data || args.disable).then_some(Marks {
            text: args.text,
            data: args.data,
        }),
        align: args.align.map(|align| align.0),
    };
    match change.is_any() {
        false => Ok(Report::shown(&file::read(&args.file)?)),
        true => Ok(Report::changed(
            &args.file,
            &file::change(&args.file, &change)?,
        )),
    }
}

fn end(args: &Args, result: Result<Report, Failure>) -> u8 {
    match &result {
        Ok(report) => report.notes.iter().for_each(|note| LOG.warning(note)),
        Err(failure) => LOG.error(&failure.to_string()),
    }
    let status = if result.is_ok() { 0 } else { FAILED };
    if args.json {
        return status.max(print_json(args, status, result));
    }
    match result {
        Ok(report) => print(&report.text()),
        Err(_) => status,
    }
}

fn print_json(args: &Args, status: u8, result: Result<Report, Failure>) -> u8 {
    let errors = result.as_ref().err().map(Failure::to_string);
    let report = result.ok();
    let document = Document {
        tool: "hugeedit",
        version: env!("CARGO_PKG_VERSION"),
        status,
        errors: errors.into_iter().collect(),
        notes: report.iter().flat_map(|r| r.notes.clone()).collect(),
        file: args.file.display().to_string(),
        report,
    };
    match serde_json::to_string_pretty(&document) {
        Ok(json) => print(&(json + "\n")),
        Err(error) => {
            LOG.error(&format!("cannot make the document: {error}"));
            FAILED
        }
    }
}

fn print(text: &str) -> u8 {
    match console::out(text) {
        Ok(()) => 0,
        Err(error) => {
            LOG.error(&format!("cannot write to standard output: {error}"));
            FAILED
        }
    }
}
