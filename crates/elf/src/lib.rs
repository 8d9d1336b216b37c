//! What an ELF file says about how it can be started.
//!
//! | question | answer |
//! |---|---|
//! | for which machine is it? | [`Ident`] |
//! | does a loader start it? | [`Kind`], [`Elf::interpreter`] |
//! | what does it need, and where is that looked for? | [`Dynamic`] |
//! | where do text, data and bss go? | [`Load`] |
//! | what have linkers left in it? | [`Elf::has_section`], [`Elf::has_note`] |
//! | does it define or refer to a symbol? | [`Elf::defines`], [`Elf::refers_to`] |
//! | which segments are marked, which can be aligned? | [`Table`], [`Table::edit`] |
//!
//! Files are not trusted: whatever they say, the answer is a value or an
//! [`ElfError`], and no more is read than the question needs. Section headers answer
//! nothing but whether there is a section, for a file may have none.
#![forbid(unsafe_code)]

mod edit;
mod error;
mod file;
mod header;
mod ident;
mod marks;
mod source;
mod symbols;
mod table;

pub use edit::{Edit, Edited, Marks, Obstacle, Patch, Refusal, Unaligned};
pub use error::ElfError;
pub use file::{Dynamic, Elf};
pub use header::{Kind, Load};
pub use ident::{Class, Endian, Ident, Machine};
pub use source::Source;
pub use table::{MARK, Placing, Role, Segment, Table};

#[cfg(test)]
mod tests;
