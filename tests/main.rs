//! The integration tests: one binary, one module per subject.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

#[macro_use]
extern crate hugetools_test_attribute;

mod bench;
mod generated;
mod harness;
mod house;
mod hugeadm;
mod hugectl;
mod libs;
mod support;
mod tools;

fn main() -> std::process::ExitCode {
    harness::main()
}
