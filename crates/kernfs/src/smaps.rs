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
    /// `KernelPageSize`: the page size of a hugetlb mapping, otherwise of base pages.
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

/// Iterates over the records of an smaps file, or of `/proc/<pid>/maps` with all counters 0.
/// Skips unknown lines, and all lines before the first complete head of a record.
pub fn records(text: &[u8]) -> Records<'_> {
    Records { rest: text }
}

/// See [`records`].
#[derive(Debug, Clone)]
pub struct Records<'a> {
    rest: &'a [u8],
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
    fn line(&mut self) -> &'a [u8] {
        let end = self.rest.iter().position(|byte| *byte == b'\n');
        let (line, rest) = match end {
            Some(end) => (&self.rest[..end], &self.rest[end + 1..]),
            None => (self.rest, &[][..]),
        };
        self.rest = rest;
        line
    }
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
    let Some(colon) = line.iter().position(|byte| *byte == b':') else {
        return;
    };
    let (field, value) = (&line[..colon], line[colon + 1..].trim_ascii_start());
    if field == b"VmFlags" {
        record.flags = value;
        return;
    }
    let Some((kib, _)) = decimal(value) else {
        return;
    };
    let bytes = kib.saturating_mul(1024);
    let place = match field {
        b"Rss" => &mut record.rss,
        b"Shared_Clean" | b"Shared_Dirty" => &mut record.shared_pages,
        b"AnonHugePages" => &mut record.anon_huge,
        b"ShmemPmdMapped" => &mut record.shmem_huge,
        b"FilePmdMapped" => &mut record.file_huge,
        b"Shared_Hugetlb" | b"Private_Hugetlb" => &mut record.hugetlb,
        b"KernelPageSize" => &mut record.kernel_page_size,
        _ => return,
    };
    *place = place.saturating_add(bytes);
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::vec::Vec;

    const TEXT: &[u8] =
        b"7f1b00400000-7f1b00800000 rw-s 00200000 00:11 7688  /memfd:a b (deleted)\n\
        Size:               4096 kB\nKernelPageSize:     2048 kB\nRss:                   0 kB\n\
        Shared_Hugetlb:     2048 kB\nPrivate_Hugetlb:    2048 kB\nVmFlags: rd wr mr mw me ht\n\
        563c8d270000-563c8d291000 rw-p 00000000 00:00 0                          [heap]\n\
        Rss:                  64 kB\nShared_Clean:          4 kB\nShared_Dirty:          8 kB\n\
        AnonHugePages:         0 kB\n\
        ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]\n";

    #[test]
    fn records_as_the_kernel_prints_them() {
        let all: Vec<_> = records(TEXT).collect();
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].name, b"/memfd:a b (deleted)");
        assert!(all[0].shared && all[0].writable && !all[0].executable);
        assert!(all[2].accessible);
        assert_eq!((all[0].mapped(), all[0].resident()), (4 << 20, 4 << 20));
        assert_eq!((all[0].offset, all[0].inode), (2 << 20, 7688));
        assert_eq!(all[0].kernel_page_size, 2 << 20);
        assert_eq!(all[0].device, (0, 0x11));
        assert!(all[0].has_flag(b"ht") && !all[0].has_flag(b"nr") && !all[1].has_flag(b"ht"));
        assert_eq!((all[1].name, all[1].resident()), (&b"[heap]"[..], 64 << 10));
        assert_eq!((all[0].shared_pages, all[1].shared_pages), (0, 12 << 10));
        assert!(all[2].executable);
    }

    #[test]
    fn a_truncated_file_loses_only_its_end() {
        assert_eq!(records(&TEXT[20..]).count(), 2);
        assert_eq!(records(&TEXT[..30]).count(), 0);
    }
}
