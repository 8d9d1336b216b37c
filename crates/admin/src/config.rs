//! The file of pools, `/etc/hugetools/hugetools.toml`. Its keys become the same requests as
//! options, with the same plan and apply.
//!
//! `table`: keys. [`source`]: files and positions. `when`: conditions. [`requests`]: requests.
//! [`check`]: differences. [`save`]: the present state. [`record`]: the state for `--rollback`.
//!
//! **Invariants.** An error names file, line and column, and prevents all changes.

pub mod check;
pub mod record;
pub mod requests;
pub mod save;
pub mod source;
mod table;
mod when;

/// A file with all keys, explained.
pub const EXAMPLE: &str = include_str!("config/example.toml");
