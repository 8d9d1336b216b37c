//! How much of a program's text, data and bss can be on huge pages: only whole
//! pages can, and those from their own beginning on.

use std::ops::Range;

use hugetools_elf::{Elf, Kind, Load, Source};
use hugetools_model::{Bytes, PageSize};

use crate::ranges::joined;

/// The parts of a file that go into memory.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Layout {
    loads: Vec<Load>,
    /// Data that the loader closes to writing; it stays where it is.
    relro: Option<Range<u64>>,
    /// Whether its address is known at the start only.
    moves: bool,
    /// Whether a part is marked for huge pages (`PF_LINUX_HUGETLB`).
    pub marked: bool,
}

/// A class of segments: text, or data and bss.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The size of the huge pages.
    pub size: PageSize,
    /// All of it.
    pub all: Bytes,
    /// What lies in whole huge pages.
    pub inner: Bytes,
    /// What fills whole huge pages: less, where the last one of a segment is its own beyond
    /// its end. Only this has a place on huge pages of the file.
    pub full: Bytes,
    /// These pages: more than that where the last one of a segment, which was linked
    /// so, is its own beyond its end.
    pub pages: Bytes,
    /// Whether that is known; else it is the most that can be.
    pub exact: bool,
}

/// Why huge pages of the page cache cannot be mapped where the text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Obstacle {
    /// No whole page lies in it.
    Small,
    /// The file can be loaded where they would not fit; its headers say that
    /// it is aligned to these bytes only.
    Alignment(u64),
    /// Addresses and offsets in the file do not agree.
    Offsets,
}

/// Who chooses the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The kernel at the start of a program, by the alignment in its headers.
    Program,
    /// The kernel for a mapping of a loader: large ones go where huge pages of
    /// the page cache fit.
    Library,
}

impl Layout {
    /// What the headers say.
    pub fn of<S: Source>(elf: &Elf<S>) -> Layout {
        Layout {
            loads: elf.loads().to_vec(),
            relro: elf.relro(),
            moves: !matches!(elf.kind(), Kind::Exec | Kind::Static),
            marked: elf.is_marked(),
        }
    }

    /// A program at fixed addresses.
    #[cfg(test)]
    pub(crate) fn fixed(loads: Vec<Load>) -> Layout {
        Layout {
            loads,
            ..Layout::default()
        }
    }

    /// Code and read-only data.
    pub fn text(&self, size: PageSize) -> Part {
        let loads = self.loads.iter().filter(|load| !load.writable);
        self.part(loads.map(|load| (load, load.address..load.end())), size)
    }

    /// Data and bss, without what the loader closes to writing.
    pub fn data(&self, size: PageSize) -> Part {
        let loads = self.loads.iter().filter(|load| load.writable);
        let parts = |load| self.open_parts(load).map(|range| (load, range));
        self.part(loads.flat_map(parts), size)
    }

    /// What of data and bss comes from the file: that in all, and that in whole
    /// pages; the rest of [`Layout::data`] is bss.
    pub fn initialised(&self, size: PageSize) -> (Bytes, Bytes) {
        let (mut all, mut inner) = (0u64, 0u64);
        for load in self.loads.iter().filter(|load| load.writable) {
            for range in self.open_parts(load) {
                let from_file = load.file_end().min(range.end).saturating_sub(range.start);
                all = all.saturating_add(from_file);
                let whole = match self.is_exact(size) {
                    true => self.whole(load, &range, size).map_or(0, |whole| {
                        let end = load.file_end().min(whole.end);
                        end.saturating_sub(whole.start)
                    }),
                    false => from_file - from_file % size.get(),
                };
                inner = inner.saturating_add(whole);
            }
        }
        (Bytes::new(all), Bytes::new(inner))
    }

    /// Whether it is known before the start what lies in whole pages.
    fn is_exact(&self, size: PageSize) -> bool {
        !self.moves || self.align() >= size.get()
    }

    fn part<'a>(
        &self,
        ranges: impl Iterator<Item = (&'a Load, Range<u64>)>,
        size: PageSize,
    ) -> Part {
        let exact = self.is_exact(size);
        let (mut all, mut inner, mut full, mut pages) = (0u64, 0u64, 0u64, 0u64);
        for (load, range) in ranges {
            let len = range.end.saturating_sub(range.start);
            let whole = self.whole(load, &range, size);
            let whole = match exact {
                true => whole.map_or(0, |whole| whole.end - whole.start),
                false => len - len % size.get(),
            };
            let whole_pages = whole.checked_next_multiple_of(size.get()).unwrap_or(whole);
            all = all.saturating_add(len);
            inner = inner.saturating_add(whole);
            full = full.saturating_add(whole - whole % size.get());
            pages = pages.saturating_add(whole_pages);
        }
        Part {
            size,
            all: Bytes::new(all),
            inner: Bytes::new(inner),
            full: Bytes::new(full),
            pages: Bytes::new(pages),
            exact,
        }
    }

    /// What of a part of a segment lies in whole pages: up to its end, where it was
    /// linked for such pages and nothing else lies in the last one.
    fn whole(&self, load: &Load, range: &Range<u64>, size: PageSize) -> Option<Range<u64>> {
        let end = range.end.checked_next_multiple_of(size.get())?;
        let next = self.loads.iter().map(|load| load.address);
        let next = next.filter(|start| *start >= load.end()).min();
        let is_linked = load.align >= size.get() && range.end == load.end();
        if !is_linked || next.is_some_and(|next| next < end) {
            return within(range, size);
        }
        let whole = within(&(range.start..end), size)?;
        (whole.start < range.end).then_some(whole.start..range.end)
    }

    fn open_parts(&self, load: &Load) -> [Range<u64>; 2] {
        let closed = self.relro.clone().unwrap_or(load.address..load.address);
        let inside = |address: u64| address.clamp(load.address, load.end());
        [
            load.address..inside(closed.start),
            inside(closed.end)..load.end(),
        ]
    }

    /// The alignment that the kernel loads a program to.
    pub(crate) fn align(&self) -> u64 {
        self.loads.iter().map(|load| load.align).max().unwrap_or(0)
    }

    /// The parts of the file whose huge pages in the page cache can be mapped
    /// as its text.
    ///
    /// # Errors
    /// When there are none: why.
    pub fn own_pages(&self, size: PageSize, place: Place) -> Result<Vec<Range<u64>>, Obstacle> {
        let fits = |load: &&Load| {
            load.file_size >= size.get() && (self.moves || within(&memory(load), size).is_some())
        };
        let text = self.loads.iter().filter(|load| !load.writable);
        let mut large: Vec<&Load> = text.filter(fits).collect();
        if large.is_empty() {
            return Err(Obstacle::Small);
        }
        large.retain(|load| load.address.wrapping_sub(load.offset) % size.get() == 0);
        if large.is_empty() {
            return Err(Obstacle::Offsets);
        }
        if place == Place::Program && self.moves && self.align() < size.get() {
            return Err(Obstacle::Alignment(self.align()));
        }
        let ranges: Vec<_> = large
            .iter()
            .filter_map(|load| within(&in_file(load), size))
            .collect();
        match ranges.is_empty() {
            true => Err(Obstacle::Small),
            false => Ok(joined(ranges)),
        }
    }
}

fn in_file(load: &Load) -> Range<u64> {
    load.offset..load.offset.saturating_add(load.file_size)
}

fn memory(load: &Load) -> Range<u64> {
    load.address..load.file_end()
}

/// The whole pages in a range; `None` if there are none.
fn within(range: &Range<u64>, size: PageSize) -> Option<Range<u64>> {
    let start = range.start.checked_next_multiple_of(size.get())?;
    let end = range.end - range.end % size.get();
    (start < end).then_some(start..end)
}

#[cfg(test)]
mod tests;
