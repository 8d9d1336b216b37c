//! Fuzzing on stable Rust: parsers and command lines are given what was
//! recorded, changed at random, and judged by a second opinion.
//!
//! Each target runs for `HUGETOOLS_SECONDS`, 2 without it, after the whole
//! corpus: what recorded machines hold, and `tests/fuzz/corpus`, where an input
//! that was once handled wrongly is kept.
#![expect(clippy::unwrap_used, reason = "a test stops where it fails")]

#[path = "fuzz/arguments.rs"]
mod arguments;
#[path = "fuzz/elf.rs"]
mod elf;
#[path = "fuzz/engine.rs"]
mod engine;
#[path = "fuzz/files.rs"]
mod files;
#[path = "support/long.rs"]
mod long;
#[path = "fuzz/specs.rs"]
mod specs;
