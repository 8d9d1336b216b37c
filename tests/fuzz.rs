//! Fuzzing on stable Rust: parsers and command lines get randomly changed inputs, and their
//! results are checked by simpler code.
//!
//! Each target runs its whole corpus, then for `HUGETOOLS_SECONDS` changed inputs. The corpus
//! has files of recorded machines and `tests/fuzz/corpus`, which keeps inputs that once
//! failed.
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
#[path = "support/long.rs"]
mod long;
#[path = "fuzz/specs.rs"]
mod specs;
