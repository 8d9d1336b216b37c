//! The integration tests: one binary, one module per subject.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

mod bench;
mod generated;
mod house;
mod hugeadm;
mod hugectl;
mod libs;
mod support;
mod tools;
