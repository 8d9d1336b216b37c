//! Sorts the mappings of a process into segments.
//!
//! Addresses are the best evidence: an object's program headers, the library's own regions. The
//! caller passes them as [`Extent`]s. The kernel's name decides for all other mappings.

use core::ops::Range;

use hugetools_kernfs::smaps::Record;

use super::{Extent, HEAP_AREA, Huge, Row, Segment, WATCHER_PAGE};

/// Sorts the mappings of a process into `rows` and returns how many are used. `pmd_size`
/// is the size of a transparent huge page. `extents` is ordered by priority. When `rows`
/// is full, the last one collects the rest.
pub fn sort<'a>(
    mappings: impl Iterator<Item = Record<'a>>,
    pmd_size: u64,
    extents: &[Extent<'a>],
    rows: &mut [Row<'a>],
) -> usize {
    let mut filled = 0;
    pieces(mappings, extents, |record, range, segment, object| {
        let piece = piece(record, range, pmd_size, segment, object);
        filled = put(rows, filled, &piece);
    });
    filled
}

/// Calls `found` for each piece of a process's memory, in address order. Mappings are split at the
/// borders of extents. Skips inaccessible address space, the page of the report and the kernel's
/// own mappings.
pub fn pieces<'a>(
    mappings: impl Iterator<Item = Record<'a>>,
    extents: &[Extent<'a>],
    mut found: impl FnMut(&Record<'a>, Range<u64>, Segment, Option<&'a [u8]>),
) {
    for record in mappings {
        // Inaccessible address space is not memory.
        let is_memory = record.accessible || record.resident() > 0;
        if !is_memory || is_of_the_report(record.name) {
            continue;
        }
        let mut at = record.start;
        while at < record.end {
            let (end, extent) = covering(extents, at, record.end);
            let kind = match extent {
                Some(extent) => Some((extent.segment, extent.object)),
                None => by_name(&record),
            };
            if let Some((segment, object)) = kind {
                found(&record, at..end, segment, object);
            }
            at = end;
        }
    }
}

/// Whether a mapping is the page that the library shares with `hugectl --report`.
pub fn is_of_the_report(name: &[u8]) -> bool {
    name.strip_prefix(b"/memfd:")
        .is_some_and(|name| name.starts_with(WATCHER_PAGE))
}

/// Returns the end of the piece that begins at `at`, and the first extent that covers it, if any.
fn covering<'e, 'a>(
    extents: &'e [Extent<'a>],
    at: u64,
    limit: u64,
) -> (u64, Option<&'e Extent<'a>>) {
    let mut end = limit;
    for extent in extents {
        if extent.start <= at && at < extent.end {
            return (extent.end.min(end), Some(extent));
        }
        if at < extent.start {
            end = end.min(extent.start);
        }
    }
    (end, None)
}

/// Returns the segment and file of a mapping by the kernel's name or by [`HEAP_AREA`]; `None` for
/// the kernel's own mappings.
fn by_name<'a>(record: &Record<'a>) -> Option<(Segment, Option<&'a [u8]>)> {
    let name = record.name;
    let shared_names: [&[u8]; 5] = [
        b"/SYSV",
        b"/dev/zero",
        b"/dev/shm/",
        b"/memfd:",
        b"/anon_hugepage",
    ];
    let is_shared = record.shared
        && (shared_names.iter().any(|prefix| name.starts_with(prefix)) || record.hugetlb > 0);
    match name {
        _ if !record.shared && HEAP_AREA.contains(&record.start) => Some((Segment::Heap, None)),
        b"[heap]" => Some((Segment::Heap, None)),
        b"[stack]" => Some((Segment::Stack, None)),
        _ if is_shared || name.starts_with(b"[anon_shmem:") => Some((Segment::Shm, None)),
        _ if name.starts_with(b"/anon_hugepage") => Some((Segment::Anon, None)),
        [] => Some((Segment::Anon, None)),
        [b'/', ..] => Some((Segment::File, Some(name))),
        _ if name.starts_with(b"[anon:") => Some((Segment::Anon, None)),
        _ => None,
    }
}

/// Returns a piece of a mapping. The kernel counts whole mappings, so each piece gets a share in
/// proportion to its length. The shares add up to the whole.
pub fn piece<'a>(
    record: &Record<'a>,
    range: Range<u64>,
    pmd_size: u64,
    segment: Segment,
    object: Option<&'a [u8]>,
) -> Row<'a> {
    let len = range.end - range.start;
    let up_to = |bytes: u64, addr: u64| match record.mapped() {
        0 => 0,
        mapped => {
            let part = u128::from(bytes) * u128::from(addr - record.start) / u128::from(mapped);
            u64::try_from(part).unwrap_or(bytes)
        }
    };
    let share = |bytes: u64| up_to(bytes, range.end) - up_to(bytes, range.start);
    let mut row = Row {
        segment,
        object,
        mapped: len,
        ..Row::EMPTY
    };
    row.resident = share(record.resident()).min(len);
    row.hugetlb = share(record.hugetlb).min(row.resident);
    row.file = share(record.file_huge).min(row.resident - row.hugetlb);
    let transparent = record.anon_huge.saturating_add(record.shmem_huge);
    row.thp = share(transparent).min(row.resident - row.hugetlb - row.file);
    let by_size = [
        (pmd_size, row.thp + row.file),
        (record.kernel_page_size, row.hugetlb),
    ];
    for (page_size, bytes) in by_size {
        if bytes > 0 {
            row.add_huge(Huge { page_size, bytes });
        }
    }
    row
}

fn put<'a>(rows: &mut [Row<'a>], filled: usize, piece: &Row<'a>) -> usize {
    let same = |row: &Row<'_>| row.segment == piece.segment && row.object == piece.object;
    if let Some(row) = rows[..filled].iter_mut().find(|row| same(row)) {
        row.add(piece);
        return filled;
    }
    match rows.get_mut(filled) {
        Some(row) => {
            *row = *piece;
            filled + 1
        }
        None => {
            if let Some(last) = rows.last_mut() {
                last.add(piece);
            }
            filled
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use hugetools_kernfs::smaps::records;
    use proptest::prelude::*;
    use std::format;
    use std::string::String;
    use std::vec;

    fn mapping(start: u64, end: u64, perms: &str, name: &str, fields: &[(&str, u64)]) -> String {
        let mut text = format!("{start:x}-{end:x} {perms} 00000000 00:00 0 {name}\n");
        text.extend(
            fields
                .iter()
                .map(|(field, kib)| format!("{field}: {kib} kB\n")),
        );
        text
    }

    fn sorted<'a>(text: &'a str, extents: &[Extent<'a>]) -> vec::Vec<Row<'a>> {
        let mut rows = vec![Row::EMPTY; 20];
        let filled = sort(records(text.as_bytes()), 2 << 20, extents, &mut rows);
        rows.truncate(filled);
        rows
    }

    #[test]
    fn names_decide_outside_extents() {
        let text = [
            mapping(0x1000, 0x2000, "rw-p", "[heap]", &[("Rss", 4)]),
            mapping(0x2000, 0x3000, "rw-s", "/SYSV00000000 (deleted)", &[]),
            mapping(0x3000, 0x4000, "rw-s", "/dev/zero (deleted)", &[]),
            mapping(0x4000, 0x5000, "r--p", "/usr/lib/locale/x", &[]),
            mapping(0x5000, 0x6000, "r-xp", "[vdso]", &[]),
            mapping(0x6000, 0x7000, "rw-p", "", &[]),
            mapping(0x7000, 0x8000, "---p", "", &[]),
            mapping(HEAP_AREA.start, HEAP_AREA.start + 0x1000, "rw-p", "", &[]),
        ]
        .concat();
        let rows = sorted(&text, &[]);
        let kinds: vec::Vec<_> = rows.iter().map(|row| row.segment).collect();
        assert_eq!(rows[0].mapped, 0x2000);
        assert_eq!(
            kinds,
            [Segment::Heap, Segment::Shm, Segment::File, Segment::Anon]
        );
    }

    #[test]
    fn a_mapping_across_data_and_bss_is_split_by_address() {
        let fields = [
            ("Rss", 0),
            ("Private_Hugetlb", 4096),
            ("KernelPageSize", 2048),
        ];
        let text = mapping(0x40_0000, 0x80_0000, "rw-p", "/memfd:x (deleted)", &fields);
        let extent = |start, end, segment| Extent {
            start,
            end,
            segment,
            object: Some(&b"/bin/x"[..]),
        };
        let extents = [
            extent(0x40_0000, 0x50_0000, Segment::Data),
            extent(0x50_0000, 0x80_0000, Segment::Bss),
        ];
        let rows = sorted(&text, &extents);
        assert_eq!(rows.len(), 2);
        for (row, segment, bytes) in [
            (rows[0], Segment::Data, 1 << 20),
            (rows[1], Segment::Bss, 3 << 20),
        ] {
            let found = (row.segment, row.mapped, row.hugetlb, row.huge[0].bytes);
            assert_eq!(found, (segment, bytes, bytes, bytes));
        }
    }

    #[test]
    fn the_last_row_collects_the_rest() {
        let text = [
            mapping(0x1000, 0x2000, "rw-p", "[heap]", &[]),
            mapping(0x4000, 0x5000, "r--p", "/a", &[]),
            mapping(0x5000, 0x6000, "r--p", "/b", &[]),
        ]
        .concat();
        let mut rows = [Row::EMPTY; 2];
        assert_eq!(sort(records(text.as_bytes()), 2 << 20, &[], &mut rows), 2);
        assert_eq!(rows[1].mapped, 0x2000);
        assert_eq!(sort(records(text.as_bytes()), 2 << 20, &[], &mut []), 0);
    }

    proptest! {
        #[test]
        fn huge_is_at_most_resident_is_at_most_mapped(
            pages in 1u64..4000, rss in 0u64..20000, thp in 0u64..20000, tlb in 0u64..20000,
            cut in 0u64..4000,
        ) {
            let fields = [("Rss", rss), ("AnonHugePages", thp), ("Private_Hugetlb", tlb), ("KernelPageSize", 2048)];
            let text = mapping(0x1000, 0x1000 + pages * 4096, "rw-p", "", &fields);
            let extents = [Extent { start: 0, end: 0x1000 + cut * 4096, segment: Segment::Bss, object: None }];
            for row in sorted(&text, &extents) {
                prop_assert!(row.huge_bytes() <= row.resident && row.resident <= row.mapped);
                prop_assert_eq!(row.huge_bytes(), row.hugetlb + row.thp + row.file);
            }
            let all: u64 = sorted(&text, &extents).iter().map(|row| row.resident).sum();
            if rss + tlb <= pages * 4 {
                prop_assert_eq!(all, (rss + tlb) << 10);
            }
        }
    }
}
