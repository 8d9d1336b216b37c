//! The records of `/proc/<pid>/smaps`, one per VMA.

use crate::number::{decimal, hex};

/// One VMA with its counters in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Record<'a> {
    /// First address.
    pub start: u64,
    /// First address after it.
    pub end: u64,
    /// Whether it is readable, writable or executable.
    pub accessible: bool,
    /// Whether it is readable.
    pub readable: bool,
    /// Whether it is writable.
    pub writable: bool,
    /// Whether it is executable.
    pub executable: bool,
    /// Whether it is shared (`MAP_SHARED`).
    pub shared: bool,
    /// Offset in the file.
    pub offset: u64,
    /// Device of the file: major and minor number.
    pub device: (u64, u64),
    /// Inode of the file; 0 for anonymous memory.
    pub inode: u64,
    /// The file, or a kernel name such as `[heap]`; may be empty.
    pub name: &'a [u8],
    /// `Rss`: resident bytes without hugetlb pages.
    pub rss: u64,
    /// `Referenced`: resident bytes that were accessed since the kernel last cleared the
    /// accessed bits.
    pub referenced: u64,
    /// `Shared_Clean` and `Shared_Dirty`: resident bytes that other processes map, too.
    pub shared_pages: u64,
    /// `AnonHugePages`: anonymous memory on transparent huge pages.
    pub anon_huge: u64,
    /// `ShmemPmdMapped`: shared memory on transparent huge pages.
    pub shmem_huge: u64,
    /// `FilePmdMapped`: page cache on transparent huge pages.
    pub file_huge: u64,
    /// `Shared_Hugetlb` and `Private_Hugetlb`: hugetlb pages.
    pub hugetlb: u64,
    /// `KernelPageSize`: the page size of a hugetlb mapping.
    pub kernel_page_size: u64,
    /// `VmFlags`: two-letter flags.
    pub flags: &'a [u8],
}

impl Record<'_> {
    /// Returns the length of the VMA.
    pub fn mapped(&self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Returns the resident bytes, hugetlb pages included.
    pub fn resident(&self) -> u64 {
        self.rss.saturating_add(self.hugetlb)
    }

    /// Whether `VmFlags` has this flag.
    pub fn has_flag(&self, word: &[u8; 2]) -> bool {
        self.flags.split(|b| *b == b' ').any(|flag| flag == word)
    }

    /// Returns the bytes on transparent huge pages of any kind.
    pub fn thp(&self) -> u64 {
        self.anon_huge
            .saturating_add(self.shmem_huge)
            .saturating_add(self.file_huge)
    }
}

/// Iterates over the records of an smaps file. Skips unknown lines and a record with an
/// incomplete first line.
pub fn records(text: &[u8]) -> Records<'_> {
    Records { rest: text }
}

/// See [`records`].
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
}

/// Iterates over the records of `/proc/<pid>/maps`. All counters are 0.
pub fn heads(text: &[u8]) -> Heads<'_> {
    Heads(records(text))
}

/// See [`heads`].
#[derive(Debug, Clone)]
pub struct Heads<'a>(Records<'a>);

impl<'a> Heads<'a> {
    /// Returns the text that is not parsed yet.
    pub fn rest(&self) -> &'a [u8] {
        self.0.rest()
    }
}

impl<'a> Iterator for Heads<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        while !self.0.rest.is_empty() {
            if let Some(record) = parse_head(self.0.line()) {
                return Some(record);
            }
        }
        None
    }
}

impl<'a> Iterator for Records<'a> {
    type Item = Record<'a>;

    fn next(&mut self) -> Option<Record<'a>> {
        let mut record = loop {
            if self.rest.is_empty() {
                return None;
            }
            if let Some(record) = parse_head(self.line()) {
                break record;
            }
        };
        loop {
            self.skip_zero_fields();
            let before = self.rest;
            if before.is_empty() {
                break;
            }
            let line = self.line();
            if parse_head(line).is_some() {
                self.rest = before;
                break;
            }
            parse_field(&mut record, line);
        }
        Some(record)
    }
}

impl<'a> Records<'a> {
    /// Returns the text that is not parsed yet.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Skips fields with the value `0 kB`. Most fields are zero, so this saves time.
    fn skip_zero_fields(&mut self) {
        while let Some((line, rest)) = self.rest.split_first_chunk() {
            if !is_zero(line) {
                break;
            }
            self.rest = rest;
        }
    }

    fn line(&mut self) -> &'a [u8] {
        let (line, rest) = match newline(self.rest) {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        line
    }
}

/// Length of a field's line in bytes; lines with very large numbers are longer.
const FIELD: usize = 28;

/// Whether this is one line with the value `0 kB`.
fn is_zero(line: &[u8; FIELD]) -> bool {
    const NOTHING: &[u8; 8] = b"   0 kB\n";
    let has_no_end = |at: usize| {
        let word = line[at..at + 8].try_into().unwrap_or([0; 8]);
        line_ends(u64::from_le_bytes(word)) == 0
    };
    line[FIELD - 8..] == *NOTHING
        && line[0].is_ascii_uppercase()
        && has_no_end(0)
        && has_no_end(8)
        && has_no_end(12)
}

/// Returns nonzero if one of eight bytes is a line end. The lowest set bit is the highest
/// bit of the first such byte.
fn line_ends(bytes: u64) -> u64 {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const LINE_ENDS: u64 = u64::from_ne_bytes([b'\n'; 8]);
    // A line end becomes a zero byte. The expression sets a bit at the lowest zero byte.
    let zeros = bytes ^ LINE_ENDS;
    zeros.wrapping_sub(ONES) & !zeros & (ONES << 7)
}

/// Returns the position of the first line end. It compares eight bytes at a time, since a
/// file may have megabytes.
fn newline(text: &[u8]) -> Option<usize> {
    let mut words = text.chunks_exact(8);
    let mut at = 0;
    for word in &mut words {
        let bytes = word.try_into().unwrap_or([0; 8]);
        let found = line_ends(u64::from_le_bytes(bytes));
        if found != 0 {
            return Some(at + found.trailing_zeros() as usize / 8);
        }
        at += 8;
    }
    let rest = words.remainder().iter().position(|byte| *byte == b'\n');
    rest.map(|rest| at + rest)
}

/// Parses `7f1b00400000-7f1b00800000 rw-p 00000000 00:11 7688    /memfd:x (deleted)`.
fn parse_head(line: &[u8]) -> Option<Record<'_>> {
    // Field names begin with a capital letter, addresses never do.
    if line.first().is_none_or(u8::is_ascii_uppercase) {
        return None;
    }
    let (start, rest) = hex(line)?;
    let (end, rest) = hex(rest.strip_prefix(b"-")?)?;
    let rest = rest.strip_prefix(b" ")?;
    let (perms, rest) = rest.split_at_checked(4)?;
    let mut words = rest.trim_ascii_start().splitn(3, |b| *b == b' ');
    let (offset, device, rest) = (words.next()?, words.next()?, words.next()?);
    let (offset, _) = hex(offset)?;
    let (major, minor) = hex(device)?;
    let (minor, _) = hex(minor.strip_prefix(b":")?)?;
    let (inode, name) = decimal(rest)?;
    Some(Record {
        start,
        end,
        accessible: perms[..3] != *b"---",
        readable: perms[0] == b'r',
        writable: perms[1] == b'w',
        executable: perms[2] == b'x',
        shared: matches!(perms[3], b's' | b'S'),
        offset,
        device: (major, minor),
        inode,
        name: name.trim_ascii_start(),
        ..Record::default()
    })
}

fn parse_field<'a>(record: &mut Record<'a>, line: &'a [u8]) {
    let Some((field, value)) = field(line) else {
        return;
    };
    let value = value.trim_ascii_start();
    if field == Field::Flags {
        record.flags = value;
        return;
    }
    let Some((kib, _)) = decimal(value) else {
        return;
    };
    let bytes = kib.saturating_mul(1024);
    match field {
        Field::Rss => record.rss = bytes,
        Field::Referenced => record.referenced = bytes,
        Field::Shared => record.shared_pages = record.shared_pages.saturating_add(bytes),
        Field::AnonHuge => record.anon_huge = bytes,
        Field::ShmemHuge => record.shmem_huge = bytes,
        Field::FileHuge => record.file_huge = bytes,
        Field::Hugetlb => record.hugetlb = record.hugetlb.saturating_add(bytes),
        Field::PageSize => record.kernel_page_size = bytes,
        Field::Flags => {}
    }
}

/// The fields that we use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Rss,
    Referenced,
    Shared,
    AnonHuge,
    ShmemHuge,
    FileHuge,
    Hugetlb,
    PageSize,
    Flags,
}

/// Returns the field and value of a line. The first letters reject most lines, so they
/// are compared first.
fn field(line: &[u8]) -> Option<(Field, &[u8])> {
    match line {
        [b'R', b'e', ..] => Some((Field::Referenced, line.strip_prefix(b"Referenced:")?)),
        [b'R', b's', ..] => Some((Field::Rss, line.strip_prefix(b"Rss:")?)),
        [b'S', b'h', _, _, _, _, _, b'C', ..] => {
            Some((Field::Shared, line.strip_prefix(b"Shared_Clean:")?))
        }
        [b'S', b'h', _, _, _, _, _, b'D', ..] => {
            Some((Field::Shared, line.strip_prefix(b"Shared_Dirty:")?))
        }
        [b'S', b'h', _, _, _, _, _, b'H', ..] => {
            Some((Field::Hugetlb, line.strip_prefix(b"Shared_Hugetlb:")?))
        }
        [b'S', b'h', ..] => Some((Field::ShmemHuge, line.strip_prefix(b"ShmemPmdMapped:")?)),
        [b'P', b'r', _, _, _, _, _, _, b'H', ..] => {
            Some((Field::Hugetlb, line.strip_prefix(b"Private_Hugetlb:")?))
        }
        [b'A', ..] => Some((Field::AnonHuge, line.strip_prefix(b"AnonHugePages:")?)),
        [b'F', ..] => Some((Field::FileHuge, line.strip_prefix(b"FilePmdMapped:")?)),
        [b'K', b'e', ..] => Some((Field::PageSize, line.strip_prefix(b"KernelPageSize:")?)),
        [b'V', ..] => Some((Field::Flags, line.strip_prefix(b"VmFlags:")?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use proptest::prelude::*;
    use std::vec::Vec;

    const TEXT: &[u8] =
        b"7f1b00400000-7f1b00800000 rw-s 00200000 00:11 7688  /memfd:a b (deleted)\n\
        Size:               4096 kB\nKernelPageSize:     2048 kB\nRss:                   0 kB\n\
        Shared_Hugetlb:     2048 kB\nPrivate_Hugetlb:    2048 kB\nVmFlags: rd wr mr mw me ht\n\
        563c8d270000-563c8d291000 rw-p 00000000 00:00 0                          [heap]\n\
        Rss:                  64 kB\nShared_Clean:          4 kB\nShared_Dirty:          8 kB\n\
        Referenced:           60 kB\nAnonHugePages:         0 kB\n\
        ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

    #[test]
    fn records_as_the_kernel_prints_them() {
        let all: Vec<_> = records(TEXT).collect();
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].name, b"/memfd:a b (deleted)");
        assert!(all[0].shared && all[0].writable && !all[0].executable);
        assert!(all[0].readable && !all[2].readable && all[2].accessible);
        assert_eq!((all[0].mapped(), all[0].resident()), (4 << 20, 4 << 20));
        assert_eq!((all[0].offset, all[0].inode), (2 << 20, 7688));
        assert_eq!(all[0].kernel_page_size, 2 << 20);
        assert_eq!(all[0].device, (0, 0x11));
        assert!(all[0].has_flag(b"ht") && !all[0].has_flag(b"nr") && !all[1].has_flag(b"ht"));
        assert_eq!((all[1].name, all[1].resident()), (&b"[heap]"[..], 64 << 10));
        assert_eq!((all[0].referenced, all[1].referenced), (0, 60 << 10));
        assert_eq!((all[0].shared_pages, all[1].shared_pages), (0, 12 << 10));
        assert!(all[2].executable);
    }

    /// A zero field is skipped only if it is exactly one line.
    #[test]
    fn zero_fields() {
        let head = "1000-2000 rw-p 0 00:00 1 /a\n";
        let rest = "Rss:                   8 kB\nAnonHugePages:         0 kB\n";
        for (before, rss) in [
            ("Swap:                  0 kB\n", 8 << 10),
            (
                "Locked:                0 kB\nSwap:                  0 kB\n",
                8 << 10,
            ),
            ("VmFlags: rd\nRss:     0 kB\n", 8 << 10),
            ("", 8 << 10),
        ] {
            let text = std::format!("{head}{before}{rest}{head}");
            let all: Vec<_> = records(text.as_bytes()).collect();
            assert_eq!((all.len(), all[0].rss), (2, rss), "{before}");
        }
        let text = std::format!("{head}VmFlags: rd\nRss:         4   0 kB\n{head}");
        assert_eq!(records(text.as_bytes()).next().unwrap().rss, 4 << 10);
    }

    #[test]
    fn a_truncated_file_loses_only_its_end() {
        assert_eq!(records(&TEXT[20..]).count(), 2);
        assert_eq!(records(&TEXT[..30]).count(), 0);
    }

    proptest! {
        #[test]
        fn newline_finds_the_first_line_end(
            line in prop::collection::vec(any::<u8>(), 0..40),
            after in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let text = [&line[..], b"\n", &after].concat();
            let first = text.iter().position(|byte| *byte == b'\n');
            prop_assert_eq!(newline(&text), first);
            prop_assert_eq!(newline(&text[..first.unwrap_or(0)]), None);
        }
    }
}
