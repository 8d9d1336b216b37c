//! The segments of a program, and how much of them can be on huge pages.

use std::ops::Range;

use hugetools_elf::{Elf, Kind, Load};
use hugetools_model::{Bytes, PageSize};

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Layout {
    loads: Vec<Load>,
    /// Data that the loader write-protects. It stays on base pages.
    relro: Option<Range<u64>>,
    /// Whether the kernel chooses the address.
    is_position_independent: bool,
    /// Whether a segment is marked for huge pages (`PF_LINUX_HUGETLB`).
    pub(crate) marked: bool,
}

/// How much of text, or of data and bss, can be on huge pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) size: PageSize,
    pub(crate) all: Bytes,
    /// Bytes that can be on huge pages, the last of which may extend beyond the segment's end.
    pub(crate) inner: Bytes,
    /// The same without such a last page. Only these can be on huge pages of the file.
    pub(crate) full: Bytes,
    /// The size of the huge pages that hold `inner`.
    pub(crate) pages: Bytes,
    /// Whether these figures are exact, not maximums.
    pub(crate) exact: bool,
}

/// Why huge pages of the page cache cannot be mapped as text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Obstacle {
    /// The text contains no whole huge page.
    Small,
    /// The kernel aligns the program only to this many bytes.
    Alignment(u64),
    /// Addresses and file offsets differ modulo the page size.
    Offsets,
}

/// The kind of file, which decides how the kernel aligns it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Aligned as its headers say.
    Program,
    /// Aligned to huge pages, as any large mapping.
    Library,
}

impl Layout {
    pub(crate) fn of(elf: &Elf) -> Layout {
        Layout {
            loads: elf.loads().to_vec(),
            relro: elf.relro(),
            is_position_independent: !matches!(elf.kind(), Kind::Exec | Kind::Static),
            marked: elf.is_marked(),
        }
    }

    /// Measures code and read-only data.
    pub(crate) fn text(&self, size: PageSize) -> Part {
        let loads = self.loads.iter().filter(|load| !load.writable);
        self.part(loads.map(|load| (load, load.address..load.end())), size)
    }

    /// Measures data and bss without RELRO.
    pub(crate) fn data(&self, size: PageSize) -> Part {
        let loads = self.loads.iter().filter(|load| load.writable);
        let parts = |load| self.outside_relro(load).map(|range| (load, range));
        self.part(loads.flat_map(parts), size)
    }

    /// Returns the bytes of data that come from the file: all, and those that can be on huge
    /// pages. The rest of [`Layout::data`] is bss.
    pub(crate) fn initialised(&self, size: PageSize) -> (Bytes, Bytes) {
        let (mut all, mut inner) = (0u64, 0u64);
        for load in self.loads.iter().filter(|load| load.writable) {
            for range in self.outside_relro(load) {
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

    /// Whether the address is known modulo the page size.
    fn is_exact(&self, size: PageSize) -> bool {
        !self.is_position_independent || self.align() >= size.get()
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

    /// Whether a segment was linked for pages of this size: by its alignment or, if it is
    /// marked, by its address. Old linker scripts don't set the alignment.
    fn is_linked_for(&self, load: &Load, size: PageSize) -> bool {
        let by_address =
            load.marked && !self.is_position_independent && load.address % size.get() == 0;
        load.align >= size.get() || by_address
    }

    /// Returns the bytes of a range in whole pages. A partial page at the segment's end counts
    /// if the segment was linked for such pages and no other segment shares the page.
    fn whole(&self, load: &Load, range: &Range<u64>, size: PageSize) -> Option<Range<u64>> {
        let end = range.end.checked_next_multiple_of(size.get())?;
        let next = self.loads.iter().map(|load| load.address);
        let next = next.filter(|start| *start >= load.end()).min();
        let is_linked = self.is_linked_for(load, size) && range.end == load.end();
        if !is_linked || next.is_some_and(|next| next < end) {
            return within(range, size);
        }
        let whole = within(&(range.start..end), size)?;
        (whole.start < range.end).then_some(whole.start..range.end)
    }

    fn outside_relro(&self, load: &Load) -> [Range<u64>; 2] {
        let relro = self.relro.clone().unwrap_or(load.address..load.address);
        let inside = |address: u64| address.clamp(load.address, load.end());
        [
            load.address..inside(relro.start),
            inside(relro.end)..load.end(),
        ]
    }

    /// Returns the alignment (bytes) at which the kernel loads a program.
    pub(crate) fn align(&self) -> u64 {
        self.loads.iter().map(|load| load.align).max().unwrap_or(0)
    }

    /// Returns the ranges of the file whose huge pages in the page cache can be mapped as text.
    pub(crate) fn own_pages(
        &self,
        size: PageSize,
        place: Place,
    ) -> Result<Vec<Range<u64>>, Obstacle> {
        let fits = |load: &&Load| {
            load.file_size >= size.get()
                && (self.is_position_independent || within(&memory(load), size).is_some())
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
        if place == Place::Program && self.is_position_independent && self.align() < size.get() {
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

/// Returns the ranges sorted; merges overlapping and adjacent ones.
fn joined(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_by_key(|range| range.start);
    let mut all: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        match all.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => all.push(range),
        }
    }
    all
}

fn in_file(load: &Load) -> Range<u64> {
    load.offset..load.offset.saturating_add(load.file_size)
}

fn memory(load: &Load) -> Range<u64> {
    load.address..load.file_end()
}

/// Returns the whole pages in a range, if there are any.
fn within(range: &Range<u64>, size: PageSize) -> Option<Range<u64>> {
    let start = range.start.checked_next_multiple_of(size.get())?;
    let end = range.end - range.end % size.get();
    (start < end).then_some(start..end)
}

#[cfg(test)]
mod tests;
