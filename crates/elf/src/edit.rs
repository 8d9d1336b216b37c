//! Marks and alignments of segments, changed: from one table to another, and
//! what differs between the two as bytes of the file.
//!
//! Every field that is changed is good with either value whatever the others
//! have, so that a reader who sees some of them old and some new still sees a
//! program that works.

use std::fmt;

use object::elf;

use crate::ident::{Class, Ident};
use crate::table::{Layout, MARK, Placing, Role, Segment, Table, put};

/// Which segments ask for huge pages; the others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Marks {
    /// Those that are text.
    pub text: bool,
    /// Those that are data.
    pub data: bool,
}

/// What to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Edit {
    /// The marks that the segments shall have.
    pub marks: Option<Marks>,
    /// The least alignment that they shall have, in bytes, a power of two.
    pub align: Option<u64>,
}

/// A table as it shall be, and what of the request it leaves open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The table.
    pub table: Table,
    /// Roles that were to be marked and that no segment has.
    pub missing: Vec<Role>,
    /// Segments that keep their alignment; none of them is executable.
    pub left: Vec<Unaligned>,
}

/// A segment that cannot be aligned, by its index, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unaligned {
    /// Its place in the program header table.
    pub index: usize,
    /// Why it cannot.
    pub why: Obstacle,
}

/// Why a segment cannot be aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// Address and offset in the file differ by this much more than a multiple
    /// of the alignment, so that no aligned page of the one is an aligned page
    /// of the other.
    Apart(u64),
    /// Its present alignment is no power of two.
    Odd(u64),
}

/// Why nothing is changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is no program or library.
    NotStarted,
    /// No segment has a role that was to be marked.
    NothingToMark(Marks),
    /// It has fixed addresses, which an alignment does not move.
    FixedAddresses,
    /// No program can have this alignment: it is no power of two, or more than
    /// the number.
    Size(u64),
    /// It has no executable segment.
    NoText,
    /// These executable segments cannot be aligned.
    Unaligned(Vec<Unaligned>),
}

/// Bytes of a file to be replaced by as many others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// Where they are.
    pub offset: u64,
    /// The bytes as they are.
    pub old: Vec<u8>,
    /// The bytes as they shall be.
    pub new: Vec<u8>,
}

impl Table {
    /// The table after a change; the file stays as it is.
    ///
    /// # Errors
    /// Why the change would be without effect, or would make a file that no
    /// loader takes.
    pub fn edit(&self, edit: &Edit) -> Result<Edited, Refusal> {
        if self.placing == Placing::Nowhere || self.segments.is_empty() {
            return Err(Refusal::NotStarted);
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
        for segment in &self.segments {
            let aligned = !unaligned.iter().any(|u| u.index == segment.index);
            table.set(segment, edit, aligned);
        }
        Ok(Edited {
            table: table.parsed(),
            missing,
            left: unaligned,
        })
    }

    /// What a file with this table must change to have the other one; nothing
    /// where they are equal.
    pub fn patch(&self, after: &Table) -> Option<Patch> {
        let differ = |(old, new): (&u8, &u8)| old != new;
        let pairs = || self.bytes.iter().zip(&after.bytes);
        let first = pairs().position(differ)?;
        let last = pairs().rposition(differ)?;
        Some(Patch {
            offset: self.offset.checked_add(first as u64)?,
            old: self.bytes[first..=last].to_vec(),
            new: after.bytes.get(first..=last)?.to_vec(),
        })
    }

    /// The roles to be marked that no segment has; an error where that leaves
    /// nothing to mark.
    fn missing(&self, marks: Marks) -> Result<Vec<Role>, Refusal> {
        let wanted = [(marks.text, Role::Text), (marks.data, Role::Data)];
        let wanted = wanted.iter().filter(|(wanted, _)| *wanted);
        let has = |role| self.segments.iter().any(|s| s.role == Some(role));
        let missing: Vec<Role> = wanted
            .clone()
            .map(|(_, role)| *role)
            .filter(|role| !has(*role))
            .collect();
        match !missing.is_empty() && missing.len() == wanted.count() {
            true => Err(Refusal::NothingToMark(marks)),
            false => Ok(missing),
        }
    }

    /// The segments that cannot be aligned; an error where text is among them.
    fn unaligned(&self, size: u64) -> Result<Vec<Unaligned>, Refusal> {
        let largest = largest(self.ident);
        if !size.is_power_of_two() || size > largest {
            return Err(Refusal::Size(largest));
        }
        if self.placing == Placing::Fixed {
            return Err(Refusal::FixedAddresses);
        }
        let mut text = self.segments.iter().filter(|s| s.load.executable);
        if text.next().is_none() {
            return Err(Refusal::NoText);
        }
        let unaligned = |segment: &Segment| {
            let (index, why) = (segment.index, obstacle(segment, size)?);
            Some((segment.load.executable, Unaligned { index, why }))
        };
        let all: Vec<_> = self.segments.iter().filter_map(unaligned).collect();
        let texts: Vec<_> = all.iter().filter(|(x, _)| *x).map(|(_, u)| *u).collect();
        match texts.is_empty() {
            true => Ok(all.into_iter().map(|(_, u)| u).collect()),
            false => Err(Refusal::Unaligned(texts)),
        }
    }

    /// Sets the fields of one segment.
    fn set(&mut self, segment: &Segment, edit: &Edit, align: bool) {
        let layout = Layout::of(self.ident.class);
        let start = segment.index * layout.entry;
        let mut field = |at: usize, len: usize, value: u64| {
            let bytes = &mut self.bytes[start + at..start + at + len];
            put(bytes, value, self.ident.endian);
        };
        if let Some(marks) = edit.marks {
            let marked = match segment.role {
                Some(Role::Text) => marks.text,
                Some(Role::Data) => marks.data,
                None => false,
            };
            let flags = segment.flags & !MARK | if marked { MARK } else { 0 };
            field(layout.flags, 4, flags.into());
        }
        if let (Some(size), true) = (edit.align, align) {
            field(layout.align, layout.word, size.max(segment.load.align));
        }
    }
}

fn obstacle(segment: &Segment, size: u64) -> Option<Obstacle> {
    let load = &segment.load;
    let apart = load.address.wrapping_sub(load.offset) % size;
    match load.align {
        odd if odd > 1 && !odd.is_power_of_two() => Some(Obstacle::Odd(odd)),
        // What is aligned enough already is no concern of this.
        enough if enough >= size => None,
        _ if apart != 0 => Some(Obstacle::Apart(apart)),
        _ => None,
    }
}

/// The largest alignment that leaves the kernel a place: the largest huge page
/// of any machine; with addresses of 32 bits, where programs lie from 4 MiB
/// on, just that.
fn largest(ident: Ident) -> u64 {
    match ident.class {
        Class::Elf32 => 4 << 20,
        Class::Elf64 => 16 << 30,
    }
}

impl Ident {
    /// The size of the pages that the kernel can back a file with on such a
    /// machine, with the smallest base pages that are usual there; `None` for
    /// machines without any.
    pub fn file_page_size(self) -> Option<u64> {
        match elf::Machine(self.machine.0) {
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

impl Patch {
    /// Makes the change in a copy of the whole file. Whether it fits.
    pub fn apply(&self, file: &mut [u8]) -> bool {
        let place = usize::try_from(self.offset).ok().and_then(|start| {
            let end = start.checked_add(self.new.len())?;
            file.get_mut(start..end)
        });
        match place {
            Some(bytes) if bytes == self.old => {
                bytes.copy_from_slice(&self.new);
                true
            }
            _ => false,
        }
    }
}

impl Role {
    /// Its name, as options have it.
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

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Obstacle::Apart(by) => write!(f, "its address and its offset are {by:#x} apart"),
            Obstacle::Odd(align) => write!(f, "its alignment {align:#x} is no power of two"),
        }
    }
}

#[cfg(test)]
mod tests;
