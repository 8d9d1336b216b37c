//! The integration tests: one binary, one module per subject.

mod generated;
mod hugeadm;
mod support;
