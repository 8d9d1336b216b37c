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
//! Files are not trusted. Every query returns a value or an [`ElfError`], and reads no
//! more than it needs. Symbols are those of the section headers, because only they give
//! the size of the table; a file without them is not understood.
#![forbid(unsafe_code)]

mod edit;
mod error;
mod file;
mod header;
mod ident;
mod sections;
mod source;
mod symbols;
mod table;

pub use edit::{Edit, Edited, Marks, Patch, Refusal, Unaligned};
pub use error::ElfError;
pub use file::{Dynamic, Elf};
pub use header::{Kind, Load, MARK};
pub use ident::{Class, Ident, Machine};
pub use object::Endianness as Endian;
pub use source::Source;
pub use table::{Placing, Role, Segment, Table};

#[cfg(test)]
mod tests;
