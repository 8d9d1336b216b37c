//! `--compare`: shows progress while the program runs, then the result.

use hugetools_compare::{self as compare, Comparison, ComparisonJson, Failed};
use hugetools_ctl::request::Compare;
use hugetools_ctl::say::failure::Failure;
use hugetools_model::Head;
use serde::Serialize;

use super::progress::ProgressLine;
use super::{LOG, TOOL, print, root};
use crate::terminal::lay_out;
use crate::{console, stdout};

#[derive(Debug, Serialize)]
struct Document {
    #[serde(flatten)]
    head: Head,
    #[serde(flatten)]
    result: ComparisonJson,
}

/// Compares. Returns 0, or the exit status of a program that failed.
pub(super) fn run(request: &Compare) -> Result<u8, Failure> {
    let settings = &request.settings;
    let words = settings.command.iter();
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let program = words.join(" ");
    let mut line = ProgressLine::new(true);
    let result = compare::compare(settings, &root(None)?, |progress| {
        let width = progress
            .width
            .map(|width| format!(", interval {:.1} %", width * 100.0));
        let width = width.unwrap_or_default();
        line.show(&format!("{} rounds{width}", progress.rounds));
    });
    drop(line);
    let comparison = match result {
        Ok(comparison) => comparison,
        Err(failed) => return fail(failed, &program, request.json),
    };
    print(&show(&comparison, &program, request.json)).map(|()| 0)
}

fn show(comparison: &Comparison, program: &str, json: bool) -> String {
    if !json {
        return lay_out(&compare::text(comparison, program));
    }
    let document = Document {
        head: Head::new(TOOL),
        result: ComparisonJson::of(comparison, program),
    };
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// Shows the program's output, and why the comparison ended.
fn fail(failed: Failed, program: &str, json: bool) -> Result<u8, Failure> {
    console::err(&failed.output);
    let text = format!("--compare: {program} ({}): {}", failed.way, failed.why);
    match failed.status {
        126 => Err(Failure::CannotRun(text)),
        127 => Err(Failure::NotFound(text)),
        125 => Err(Failure::Own(text)),
        status if json => {
            stdout::out_json(&LOG, &Head::failed(TOOL, status, text));
            Ok(status)
        }
        status => {
            LOG.error(&text);
            Ok(status)
        }
    }
}
