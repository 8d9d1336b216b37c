//! Parses ELF files as far as hugetools needs: how a file starts, its segments and its symbols.
//!
//! | question | answer |
//! |---|---|
//! | which architecture? | [`Ident`] |
//! | does the kernel or the loader start it? | [`Kind`], [`Elf::interpreter`] |
//! | which libraries, on which search path? | [`Dynamic`] |
//! | addresses of text, data and bss | [`Load`] |
//! | notes | [`Elf::has_note`] |
//! | does it define or refer to a symbol? | [`Elf::defines`], [`Elf::refers_to`] |
//! | marks and alignment of segments | [`Table`], [`Table::edit`] |
//!
//! Files are not trusted. Every query returns a value or an [`ElfError`], and reads no more than it
//! needs, through the cache of the crate object. Dynamic symbols are found through the section
//! headers, since the dynamic section doesn't give the size of their table. If section headers are
//! stripped, queries for symbols fail.
#![forbid(unsafe_code)]

mod edit;
mod error;
mod file;
mod header;
mod ident;
mod input;
mod sections;
mod table;

pub use edit::{Edit, Edited, Marks, Patch, Refusal, Unaligned};
pub use error::ElfError;
pub use file::{Dynamic, Elf};
pub use header::{Kind, Load, MARK};
pub use ident::{Class, Ident};
pub use input::Input;
pub use object::Endianness as Endian;
pub use object::elf as constants;
pub use table::{Placing, Role, Segment, Table};

#[cfg(test)]
mod tests;
