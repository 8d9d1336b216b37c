//! The segments of an object, from its program headers.

use core::ffi::c_int;
use core::ops::Range;

use libc::Elf64_Phdr;

use crate::kernel::loaded::Loaded;
use crate::sys;

/// `PF_LINUX_HUGETLB`, the mark of hugeedit and ld.hugetlbfs.
pub const MARK: u32 = 0x0010_0000;

/// `PT_GNU_RELRO`
const RELRO: u32 = 0x6474_e552;

/// A segment in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Load {
    /// Its addresses in whole base pages, without RELRO.
    pub range: Range<usize>,
    /// End of the file's contents.
    pub file_end: usize,
    /// Address that corresponds to offset 0 of the file.
    pub file_start: usize,
    /// Each start loads it at the same address modulo this.
    pub modulus: usize,
    /// `p_align`.
    pub align: usize,
    /// Start of the object's next segment, or the largest address.
    pub next: usize,
    /// Its protection, as for `mmap`.
    pub prot: c_int,
    /// Whether it is marked for huge pages.
    pub is_marked: bool,
}

impl Load {
    /// Whether the program may write to it.
    pub fn is_writable(&self) -> bool {
        self.prot & libc::PROT_WRITE != 0
    }

    /// Extends the segment to the end of its last page of this size, if it was linked for such
    /// pages, covers the start of that page, and no other segment follows in it.
    pub fn with_tail(&self, size: usize) -> Load {
        let end = self.range.end.checked_next_multiple_of(size);
        let is_ours = |end: &usize| {
            let covers_page_start = self.range.start <= end - size;
            self.is_linked_for(size) && covers_page_start && *end <= self.next
        };
        let mut load = self.clone();
        load.range.end = end.filter(is_ours).unwrap_or(self.range.end);
        load
    }

    /// Whether it was linked for pages of this size: by its alignment, or, if it is marked, by its
    /// address, since old linker scripts align marked segments to base pages.
    fn is_linked_for(&self, size: usize) -> bool {
        let by_address = self.is_marked && self.range.start % size == 0;
        self.align >= size && self.align % size == 0 || by_address
    }

    /// The mapping that the loader made.
    pub(super) fn loaded(&self) -> Loaded {
        Loaded {
            range: self.range.clone(),
            file_end: self.file_end,
            file_start: self.file_start,
            prot: self.prot,
        }
    }

    /// End of the base pages with the file's contents.
    pub(super) fn file_pages_end(&self) -> usize {
        self.file_end.next_multiple_of(sys::page_size())
    }

    /// Its whole pages of this size.
    pub fn inner(&self, size: usize) -> Range<usize> {
        inner(&self.range, size)
    }
}

/// The whole pages of this size in a range.
pub fn inner(range: &Range<usize>, size: usize) -> Range<usize> {
    let start = range.start.checked_next_multiple_of(size);
    let start = start.unwrap_or(range.end);
    start..(range.end / size * size).max(start)
}

/// The segments of an object loaded at `base`.
pub fn loads(headers: &[Elf64_Phdr], base: usize, page: usize) -> impl Iterator<Item = Load> {
    let relro = headers.iter().find(|header| header.p_type == RELRO);
    let relro = relro.map(|header| pages_of(header, base, page));
    let loads = headers
        .iter()
        .filter(|header| header.p_type == libc::PT_LOAD);
    // Since Linux 5.10 the kernel aligns a program to the largest `p_align`; before, to a page.
    let align = loads.clone().map(|header| word(header.p_align)).max();
    let modulus = match base {
        0 => usize::MAX,
        _ => match align {
            Some(align) if base.checked_rem(align) == Some(0) => align.max(page),
            _ => page,
        },
    };
    loads.clone().filter_map(move |header| {
        let range = without_relro(pages_of(header, base, page), header, relro.as_ref())?;
        let start = base.wrapping_add(word(header.p_vaddr));
        let starts = loads
            .clone()
            .map(|header| pages_of(header, base, page).start);
        let next = starts.filter(|start| *start >= range.end).min();
        Some(Load {
            range,
            file_end: start.wrapping_add(word(header.p_filesz)),
            file_start: start.wrapping_sub(word(header.p_offset)),
            modulus,
            align: word(header.p_align),
            next: next.unwrap_or(usize::MAX),
            prot: prot(header.p_flags),
            is_marked: header.p_flags & MARK != 0,
        })
    })
}

/// The part of a segment behind RELRO; `None` if empty.
fn without_relro(
    mut range: Range<usize>,
    header: &Elf64_Phdr,
    relro: Option<&Range<usize>>,
) -> Option<Range<usize>> {
    let is_writable = header.p_flags & libc::PF_W != 0;
    if let Some(relro) = relro.filter(|relro| is_writable && meet(relro, &range)) {
        if relro.start > range.start {
            // Writable data before RELRO: no linker does that.
            return None;
        }
        range.start = relro.end.min(range.end);
    }
    (!range.is_empty()).then_some(range)
}

fn pages_of(header: &Elf64_Phdr, base: usize, page: usize) -> Range<usize> {
    let start = base.wrapping_add(word(header.p_vaddr));
    let end = start.saturating_add(word(header.p_memsz));
    start / page * page..end.checked_next_multiple_of(page).unwrap_or(end)
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// The protection, as for `mmap`, of a segment with these flags.
pub fn prot(flags: u32) -> c_int {
    let bit = |flag, prot| if flags & flag != 0 { prot } else { 0 };
    bit(libc::PF_R, libc::PROT_READ)
        | bit(libc::PF_W, libc::PROT_WRITE)
        | bit(libc::PF_X, libc::PROT_EXEC)
}

fn word(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: u32 = libc::PF_R | libc::PF_X;
    const DATA: u32 = libc::PF_R | libc::PF_W;

    fn segment(flags: u32, vaddr: u64, filesz: u64, memsz: u64) -> Elf64_Phdr {
        header(libc::PT_LOAD, flags, vaddr, filesz, memsz)
    }

    fn header(kind: u32, flags: u32, vaddr: u64, filesz: u64, memsz: u64) -> Elf64_Phdr {
        Elf64_Phdr {
            p_type: kind,
            p_flags: flags,
            p_offset: vaddr - 0x40_0000,
            p_vaddr: vaddr,
            p_paddr: vaddr,
            p_filesz: filesz,
            p_memsz: memsz,
            p_align: 0x1000,
        }
    }

    #[test]
    fn relro_is_left_out() {
        let headers = [
            segment(CODE, 0x40_0000, 0x1234, 0x1234),
            segment(DATA | MARK, 0x60_2df0, 0x300, 0x50_0000),
            header(RELRO, libc::PF_R, 0x60_2df0, 0x210, 0x210),
            header(libc::PT_DYNAMIC, libc::PF_R, 0x60_2e00, 0x100, 0x100),
        ];
        let all: Vec<_> = loads(&headers, 0x1000_0000, 0x1000).collect();
        assert_eq!(all.len(), 2);
        assert_eq!(all[0].range, 0x1040_0000..0x1040_2000);
        assert_eq!(all[0].file_start, 0x1040_0000);
        assert!(!all[0].is_writable() && !all[0].is_marked);
        assert_eq!(all[0].modulus, 0x1000);
        assert_eq!(
            loads(&headers, 0, 0x1000).next().unwrap().modulus,
            usize::MAX
        );
        assert_eq!(all[1].range, 0x1060_3000..0x10b0_3000);
        assert_eq!(all[1].file_end, 0x1060_30f0);
        assert!(all[1].is_writable() && all[1].is_marked);
        assert_eq!(all[1].inner(0x20_0000), 0x1080_0000..0x10a0_0000);
        assert!(all[0].inner(0x20_0000).is_empty());
    }

    #[test]
    fn a_segment_linked_for_huge_pages_extends_to_its_last_page() {
        const SIZE: u64 = 0x20_0000;
        let linked = |kind, flags, vaddr, len| Elf64_Phdr {
            p_align: SIZE,
            ..header(kind, flags, vaddr, len, len)
        };
        let read = libc::PF_R;
        let headers = [
            linked(libc::PT_LOAD, CODE, 0x40_0000, 0x1234),
            linked(libc::PT_LOAD, read, 0x60_0000, 0x21_0000),
            linked(libc::PT_LOAD, DATA, 0x90_0000, 0x100),
        ];
        let all: Vec<_> = loads(&headers, 0x1000_0000, 0x1000).collect();
        let size = 0x20_0000;
        assert_eq!(all[0].with_tail(size).range, 0x1040_0000..0x1060_0000);
        // The next segment begins before that.
        assert_eq!(all[1].with_tail(size).range, 0x1060_0000..0x1081_0000);
        assert_eq!(all[1].next, 0x1090_0000);
        // It doesn't begin at a huge page.
        assert_eq!(all[2].with_tail(size).range, 0x1090_0000..0x1090_1000);
        assert_eq!(all[0].with_tail(1 << 30), all[0]);
        let plain = segment(read, 0x40_0000, 0x1234, 0x1234);
        let plain = loads(&[plain], 0, 0x1000).next().unwrap();
        assert_eq!(plain.with_tail(size), plain);
        assert_eq!(all[0].modulus, size);
        // A kernel that ignored `p_align` loaded it.
        let unaligned = loads(&headers, 0x1000_1000, 0x1000).next().unwrap();
        assert_eq!(unaligned.modulus, 0x1000);
    }

    /// As libhugetlbfs' linker scripts made it: aligned to a base page.
    #[test]
    fn the_address_of_a_marked_segment_counts() {
        let headers = [
            segment(CODE, 0x40_0000, 0x1234, 0x1234),
            segment(DATA | MARK, 0x100_0000, 0x1234, 0x2234),
            segment(DATA | MARK, 0x200_1000, 0x1234, 0x2234),
        ];
        let all: Vec<_> = loads(&headers, 0, 0x1000).collect();
        let size = 0x20_0000;
        assert_eq!(all[0].with_tail(size), all[0], "it is not marked");
        assert_eq!(all[1].with_tail(size).range, 0x100_0000..0x120_0000);
        assert_eq!(all[2].with_tail(size), all[2], "not at a huge page");
    }

    #[test]
    fn odd_headers_give_no_segment() {
        let all = |headers: &[Elf64_Phdr]| loads(headers, 0, 0x1000).count();
        assert_eq!(all(&[segment(DATA, 0x40_0000, 0, 0)]), 0);
        assert_eq!(
            all(&[
                segment(DATA, 0x40_0000, 0x9000, 0x9000),
                header(RELRO, libc::PF_R, 0x40_2000, 0x1000, 0x1000),
            ]),
            0
        );
        assert_eq!(
            all(&[
                segment(DATA, 0x40_0000, 0x9000, 0x9000),
                header(RELRO, libc::PF_R, 0x40_0000, 0x9000, 0x9000),
            ]),
            0
        );
    }
}
