//! hugectl as a user meets it: command lines, outputs, statuses.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "tests use files of their own, skip aloud, and fail by panicking"
)]

mod environment;
mod exec;
mod find;
mod place;
mod status;
mod targets;
mod transcripts;
