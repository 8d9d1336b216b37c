//! Configuration files: `/etc/hugetools/hugetools.toml` and `hugetools.d/*.toml`. Their keys become
//! the same requests as options, with the same plan and apply.
//!
//! `table`: keys. [`source`]: files and positions. `when`: which machines a file is for.
//! [`requests`]: keys to requests. [`check`]: machine against files. [`save`]: machine to file.
//! [`record`]: the state for `--rollback`.
//!
//! **Invariants.** A mistake in a file is reported with file, line and column, before anything is
//! changed.

pub mod check;
pub mod record;
pub mod requests;
pub mod save;
pub mod source;
mod table;
mod when;

/// A file with all keys, explained.
pub const EXAMPLE: &str = include_str!("config/example.toml");
