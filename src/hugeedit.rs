//! hugeedit: reads the command line, runs, prints, and returns the exit status.

pub mod args;

use std::ffi::OsString;

use clap::{CommandFactory, Parser};
use hugetools_elf::Marks;
use hugetools_link::report::Report;
use hugetools_link::{Change, Failure, file};
use hugetools_model::Head;
use serde::Serialize;

use crate::log::Log;
use crate::stdout::{out_json, print};
use crate::usage::no_args;
use args::Args;

const LOG: Log = Log::new("hugeedit");

const FAILED: u8 = 1;

/// The JSON document of a run. hugetools-json(7) describes its fields.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Document {
    #[serde(flatten)]
    head: Head,
    /// The file as named on the command line.
    file: String,
    /// The changes to the file; absent after an error.
    #[serde(flatten)]
    report: Option<Report>,
}

/// Runs hugeedit. The first argument is the name of the tool. Returns the exit status.
pub fn main(argv: Vec<OsString>) -> u8 {
    match Args::try_parse_from(argv.clone()) {
        Ok(args) if args.json => print_json(&args, work(&args)),
        Ok(args) => end(work(&args)),
        Err(error) => no_args(LOG, &error, &argv, &Args::command()),
    }
}

fn work(args: &Args) -> Result<Report, Failure> {
    let change = Change {
        marks: (args.text || args.data || args.disable).then_some(Marks {
            text: args.text,
            data: args.data,
        }),
        align: args.align,
    };
    match change.is_any() {
        false => Ok(Report::shown(&file::read(&args.file)?)),
        true => Ok(Report::changed(
            &args.file,
            &file::change(&args.file, &change)?,
        )),
    }
}

fn end(result: Result<Report, Failure>) -> u8 {
    match result {
        Ok(report) => {
            report.notes.iter().for_each(|note| LOG.warning(note));
            print(&LOG, &report.text())
        }
        Err(failure) => {
            LOG.error(&failure.to_string());
            FAILED
        }
    }
}

fn print_json(args: &Args, result: Result<Report, Failure>) -> u8 {
    let head = match &result {
        Ok(report) => Head {
            warnings: report.notes.clone(),
            ..Head::new(LOG.tool)
        },
        Err(failure) => Head::failed(LOG.tool, FAILED, failure.to_string()),
    };
    let document = Document {
        head,
        file: args.file.display().to_string(),
        report: result.ok(),
    };
    document.head.status.max(out_json(&LOG, &document))
}
