//! The segments that hugectl reports, and their memory.

mod sort;

use core::ops::Range;

pub use self::sort::{is_of_the_report, piece, pieces, sort};

/// The area where the heap library reserves its address space: 32 TiB from 48 TiB on.
/// Other processes recognise a heap by it. In a smaller address space (39 bits) the heap
/// lies elsewhere and other processes see it as `anon`.
pub const HEAP_AREA: Range<u64> = 0x3000_0000_0000..0x5000_0000_0000;

/// The name of the memfd that the library shares with `hugectl --report`. It is not the program's
/// memory.
pub const WATCHER_PAGE: &[u8] = b"hugetools-report";

/// A class of a program's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Segment {
    /// Code and read-only data of a program or library.
    Text,
    /// Initialised data.
    Data,
    /// Zero-initialised data.
    Bss,
    /// Memory of `malloc`.
    Heap,
    /// The main thread's stack.
    Stack,
    /// Memory shared between processes.
    Shm,
    /// Other private memory: thread stacks, the heap of a virtual machine.
    Anon,
    /// Other files.
    File,
}

impl Segment {
    /// Its name, on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Segment::Text => "text",
            Segment::Data => "data",
            Segment::Bss => "bss",
            Segment::Heap => "heap",
            Segment::Stack => "stack",
            Segment::Shm => "shm",
            Segment::Anon => "anon",
            Segment::File => "file",
        }
    }
}

/// An address range of known meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent<'a> {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// The segment.
    pub segment: Segment,
    /// The file it comes from.
    pub object: Option<&'a [u8]>,
}

/// Bytes on huge pages of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Huge {
    /// Page size in bytes; 0 for an unused entry.
    pub page_size: u64,
    /// Bytes on such pages.
    pub bytes: u64,
}

/// All segments, in report order.
pub const ALL: [Segment; 8] = [
    Segment::Text,
    Segment::Data,
    Segment::Bss,
    Segment::Heap,
    Segment::Stack,
    Segment::Shm,
    Segment::Anon,
    Segment::File,
];

/// All mappings of one segment and object. `huge <= resident <= mapped`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The segment.
    pub segment: Segment,
    /// The file, for text, data, bss and files.
    pub object: Option<&'a [u8]>,
    /// Bytes of address space.
    pub mapped: u64,
    /// Bytes in memory, hugetlb pages included.
    pub resident: u64,
    /// Bytes on huge pages by page size, smallest first.
    pub huge: [Huge; 4],
    /// Bytes on pages of a hugetlb pool.
    pub hugetlb: u64,
    /// Bytes on transparent huge pages of private or shared memory.
    pub thp: u64,
    /// Bytes on transparent huge pages of the page cache.
    pub file: u64,
    /// Why the rest is not on huge pages, or why a heap is not on pool pages, if known.
    pub reason: Option<&'a str>,
    /// Resident bytes by folio size, base pages included, if measured.
    pub folios: Option<&'a [Huge]>,
}

impl<'a> Row<'a> {
    /// A row without any mapping.
    pub const EMPTY: Row<'static> = Row {
        segment: Segment::Anon,
        object: None,
        mapped: 0,
        resident: 0,
        huge: [Huge {
            page_size: 0,
            bytes: 0,
        }; 4],
        hugetlb: 0,
        thp: 0,
        file: 0,
        reason: None,
        folios: None,
    };

    /// Returns the bytes on huge pages of all sizes.
    pub fn huge_bytes(&self) -> u64 {
        self.huge.iter().map(|huge| huge.bytes).sum()
    }

    /// Adds another row of the same segment.
    pub fn add(&mut self, other: &Row<'a>) {
        self.mapped += other.mapped;
        self.resident += other.resident;
        self.hugetlb += other.hugetlb;
        self.thp += other.thp;
        self.file += other.file;
        self.reason = self.reason.or(other.reason);
        for huge in other.huge.iter().filter(|huge| huge.bytes > 0) {
            self.add_huge(*huge);
        }
    }

    /// Adds bytes on huge pages. The last entry also takes those of a fifth page size.
    fn add_huge(&mut self, more: Huge) {
        let same = |h: &Huge| h.page_size == more.page_size || h.page_size == 0;
        let place = self.huge.iter().position(same).unwrap_or(3);
        self.huge[place].page_size = self.huge[place].page_size.max(more.page_size);
        self.huge[place].bytes += more.bytes;
        self.huge.sort_unstable_by_key(|huge| match huge.page_size {
            0 => u64::MAX,
            size => size,
        });
    }
}
