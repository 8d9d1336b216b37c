//! Changes marks and alignments of segments, and computes the changed bytes of the file.
//!
//! Any mix of old and new fields is a valid program, so a reader in the middle of a write sees one.

use std::fmt;

use object::elf;

use crate::header::MARK;
use crate::ident::{Class, Ident};
use crate::table::{Placing, Role, Segment, Table};

/// Which segments ask for huge pages. All others lose their mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// Mark text segments.
    pub text: bool,
    /// Mark data segments.
    pub data: bool,
}

/// A change to a program header table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edit {
    /// The marks to set; `None` keeps the present ones.
    pub marks: Option<Marks>,
    /// The minimum alignment in bytes, a power of two; `None` keeps the present one.
    pub align: Option<u64>,
}

/// The result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The table after the edit.
    pub table: Table,
    /// Requested roles without a segment.
    pub missing: Vec<Role>,
    /// Segments that could not be aligned. None of them is executable.
    pub unaligned: Vec<Unaligned>,
}

/// A segment that cannot be aligned, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unaligned {
    /// Its index in the program header table.
    pub index: usize,
    /// The difference of address and file offset, modulo the alignment. It isn't 0, so no aligned
    /// page in memory is an aligned page of the file.
    pub apart: u64,
}

/// Why an edit was refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The file is neither a program nor a library, or has no loadable segment.
    NotLoadable,
    /// No segment has one of the roles to mark.
    NothingToMark,
    /// The program has fixed addresses. A larger alignment doesn't move them.
    FixedAddresses,
    /// The alignment is not a power of two, or larger than this maximum.
    AlignOutOfRange(u64),
    /// These executable segments cannot be aligned.
    Unaligned(Vec<Unaligned>),
}

/// Bytes to overwrite in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Offset in the file.
    pub offset: u64,
    /// The new bytes.
    pub new: Vec<u8>,
}

impl Table {
    /// Returns the table after a change. The file stays as it is.
    ///
    /// # Errors
    /// A [`Refusal`].
    pub fn edit(&self, edit: &Edit) -> Result<Edited, Refusal> {
        if self.placing == Placing::NotLoaded || self.segments.is_empty() {
            return Err(Refusal::NotLoadable);
        }
        let missing = match edit.marks {
            None => Vec::new(),
            Some(marks) => self.missing(marks)?,
        };
        let unaligned = match edit.align {
            None => Vec::new(),
            Some(size) => self.unaligned(size)?,
        };
        let mut table = self.clone();
        for segment in &mut table.segments {
            let aligned = !unaligned.iter().any(|u| u.index == segment.index);
            segment.set(edit, aligned);
        }
        table.encode();
        Ok(Edited {
            table,
            missing,
            unaligned,
        })
    }

    /// Returns the patch from a file with this table to a file with `after`; `None` if they are
    /// equal.
    pub fn patch(&self, after: &Table) -> Option<Patch> {
        let differ = |(old, new): (&u8, &u8)| old != new;
        let pairs = || self.bytes.iter().zip(&after.bytes);
        let first = pairs().position(differ)?;
        let last = pairs().rposition(differ)?;
        Some(Patch {
            offset: self.offset.checked_add(first as u64)?,
            new: after.bytes.get(first..=last)?.to_vec(),
        })
    }

    /// Returns the requested roles without a segment.
    ///
    /// # Errors
    /// Nothing remains to mark.
    pub fn missing(&self, marks: Marks) -> Result<Vec<Role>, Refusal> {
        let wanted = [(marks.text, Role::Text), (marks.data, Role::Data)];
        let wanted = wanted.iter().filter(|(wanted, _)| *wanted);
        let has = |role| self.segments.iter().any(|s| s.role == Some(role));
        let missing: Vec<Role> = wanted
            .clone()
            .map(|(_, role)| *role)
            .filter(|role| !has(*role))
            .collect();
        match !missing.is_empty() && missing.len() == wanted.count() {
            true => Err(Refusal::NothingToMark),
            false => Ok(missing),
        }
    }

    /// Returns the segments that cannot be aligned. Fails if executable ones are among them, if the
    /// size is out of range, or if the file has fixed addresses.
    fn unaligned(&self, size: u64) -> Result<Vec<Unaligned>, Refusal> {
        let largest = largest(self.ident);
        if !size.is_power_of_two() || size > largest {
            return Err(Refusal::AlignOutOfRange(largest));
        }
        if self.placing == Placing::Fixed {
            return Err(Refusal::FixedAddresses);
        }
        let unaligned = |segment: &Segment| {
            let (index, load) = (segment.index, &segment.load);
            let apart = load.address.wrapping_sub(load.offset) % size;
            let is_unaligned = load.align < size && apart != 0;
            is_unaligned.then_some((load.executable, Unaligned { index, apart }))
        };
        let all: Vec<_> = self.segments.iter().filter_map(unaligned).collect();
        let texts: Vec<_> = all.iter().filter(|(x, _)| *x).map(|(_, u)| *u).collect();
        match texts.is_empty() {
            true => Ok(all.into_iter().map(|(_, u)| u).collect()),
            false => Err(Refusal::Unaligned(texts)),
        }
    }
}

impl Segment {
    /// Changes the decoded fields.
    fn set(&mut self, edit: &Edit, align: bool) {
        if let Some(marks) = edit.marks {
            self.load.marked = match self.role {
                Some(Role::Text) => marks.text,
                Some(Role::Data) => marks.data,
                None => false,
            };
            self.flags = self.flags & !MARK | if self.load.marked { MARK } else { 0 };
        }
        if let (Some(size), true) = (edit.align, align) {
            self.load.align = size.max(self.load.align);
        }
    }
}

/// The largest alignment (bytes): on 64-bit, the largest huge page of any architecture (16 GiB on
/// powerpc); on 32-bit only 4 MiB, because the address space is small.
fn largest(ident: Ident) -> u64 {
    match ident.class {
        Class::Elf32 => 4 << 20,
        Class::Elf64 => 16 << 30,
    }
}

impl Ident {
    /// Returns the huge page size for file mappings on this architecture, with its
    /// smallest common base page size. `None` if unknown.
    pub fn file_page_size(self) -> Option<u64> {
        match self.machine {
            elf::EM_386
            | elf::EM_X86_64
            | elf::EM_ARM
            | elf::EM_AARCH64
            | elf::EM_RISCV
            | elf::EM_PPC64 => Some(2 << 20),
            elf::EM_S390 => Some(1 << 20),
            elf::EM_LOONGARCH => Some(32 << 20),
            _ => None,
        }
    }
}

impl Role {
    /// Returns the name in options.
    pub fn name(self) -> &'static str {
        match self {
            Role::Text => "text",
            Role::Data => "data",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl fmt::Display for Unaligned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let apart = self.apart;
        write!(
            f,
            "its address and file offset differ by {apart:#x} modulo the alignment"
        )
    }
}
