//! An independent parser of 64-bit segments, so that the tested code does not check itself.

/// The mark of libhugetlbfs (`PF_LINUX_HUGETLB`).
const MARK: u64 = 0x0010_0000;

/// A loadable segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Segment {
    flags: u64,
    offset: u64,
    pub(super) address: u64,
    memory_size: u64,
    pub(super) align: u64,
}

impl Segment {
    /// Returns the flags as `readelf` prints them, with an `H` for the mark.
    pub(super) fn flags(&self) -> String {
        let letters = [(4, 'R'), (2, 'W'), (1, 'E'), (MARK, 'H')];
        let set = letters.iter().filter(|(bit, _)| self.flags & bit != 0);
        set.map(|(_, letter)| letter).collect()
    }

    fn end(&self) -> u64 {
        self.address + self.memory_size
    }
}

/// Returns the segments of a program.
pub(super) fn segments(file: &[u8]) -> Vec<Segment> {
    assert_eq!(&file[..5], b"\x7fELF\x02");
    let number = |at: usize, len: usize| {
        let bytes = file[at..at + len].iter();
        let add = |number: u64, byte: &u8| number << 8 | u64::from(*byte);
        match file[5] {
            1 => bytes.rev().fold(0, add),
            _ => bytes.fold(0, add),
        }
    };
    let index = |at, len| usize::try_from(number(at, len)).unwrap();
    let (table, size, count) = (index(32, 8), index(54, 2), index(56, 2));
    let headers = (0..count).map(|n| table + n * size);
    let loads = headers.filter(|at| number(*at, 4) == 1);
    loads
        .map(|at| Segment {
            flags: number(at + 4, 4),
            offset: number(at + 8, 8),
            address: number(at + 16, 8),
            memory_size: number(at + 40, 8),
            align: number(at + 48, 8),
        })
        .collect()
}

/// Returns what is wrong with segments for huge pages. Each must be aligned, its offset
/// congruent to its address, and no huge page may need two protections.
pub(super) fn faults(segments: &[Segment], size: u64) -> Vec<String> {
    let mut faults = Vec::new();
    for segment in segments {
        if segment.align < size || segment.address.abs_diff(segment.offset) % size != 0 {
            faults.push(format!("not aligned: {segment:x?}"));
        }
    }
    for pair in segments.windows(2) {
        let same_page = (pair[0].end() - 1) / size >= pair[1].address / size;
        if same_page && pair[0].flags != pair[1].flags {
            faults.push(format!("on one page: {pair:x?}"));
        }
    }
    faults
}
