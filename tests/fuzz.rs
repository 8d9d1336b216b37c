//! Fuzzing on stable Rust: changes inputs at random, and compares the results with those of
//! simpler code.
//!
//! Each target runs its whole corpus, then changed inputs for `HUGETOOLS_SECONDS`. The corpus has
//! files of recorded machines, and in `tests/fuzz/corpus` samples and inputs that failed once.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

#[path = "fuzz/arguments.rs"]
mod arguments;
#[path = "fuzz/config.rs"]
mod config;
#[path = "fuzz/elf.rs"]
mod elf;
#[path = "fuzz/engine.rs"]
mod engine;
#[path = "fuzz/files.rs"]
mod files;
#[path = "support/open_ended.rs"]
mod open_ended;
#[path = "fuzz/specs.rs"]
mod specs;
