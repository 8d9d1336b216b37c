//! The file of pools, `/etc/hugetools/hugetools.toml`: read, checked and turned into the requests
//! that the options make, so that it goes the same way through plan and apply.
//!
//! [`table`]: its keys. [`source`]: files and places in them. [`when`]: which machines it is for.
//! [`requests`]: requests. [`check`]: differences. [`save`]: writes such a file. [`record`]: what `--rollback` needs.
//!
//! **Invariants.** An error names file, line and column, and nothing is done then.

pub mod check;
pub mod record;
pub mod requests;
pub mod save;
pub mod source;
mod table;
mod when;

/// A file with all keys, explained.
pub const EXAMPLE: &str = include_str!("config/example.toml");
