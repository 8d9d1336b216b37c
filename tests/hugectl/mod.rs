//! hugectl: command lines, outputs, exit statuses, effects.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

mod adopt;
mod bundled_library;
mod compare;
mod dry_run;
mod environment;
mod exec;
mod explain;
mod file_thp;
mod find;
mod place;
mod report_accuracy;
mod require;
mod status;
mod targets;
mod thp_policy;
mod transcripts;
