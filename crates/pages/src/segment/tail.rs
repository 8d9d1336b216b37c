//! The last, partial huge page of a segment that was linked for huge pages: the unmapped rest of
//! that page becomes part of the segment.
#![expect(unsafe_code, reason = "maps memory beside the program's own")]

use core::ffi::c_int;

use super::load::Load;
use crate::sys;

/// Maps zeros from the segment's end to the end of its last page of this size, unless that space is
/// in use or the brk heap may grow into it. Behind data they are like it, behind code only readable.
/// Returns the segment with the new mapping.
pub fn take(load: &Load, size: usize) -> Load {
    let with_tail = extended(load, size);
    let tail = load.range.end..with_tail.range.end;
    let prot = match load.is_writable() {
        true => load.prot,
        false => load.prot & libc::PROT_READ,
    };
    match tail.is_empty() || map(tail.start, tail.len(), prot) {
        true => with_tail,
        false => load.clone(),
    }
}

/// Returns the segment with all of its last page, unless the brk heap may grow into that page.
pub fn extended(load: &Load, size: usize) -> Load {
    let with_tail = load.with_tail(size);
    match break_may_reach(sys::program_break(), load, with_tail.range.end) {
        true => load.clone(),
        false => with_tail,
    }
}

/// Whether the brk heap lies in the tail or may grow into it: without address randomisation the
/// program break starts behind the last segment. 0 is an unknown break.
fn break_may_reach(program_break: usize, load: &Load, tail_end: usize) -> bool {
    program_break == 0 || (load.range.start..tail_end).contains(&program_break)
}

/// Unmaps the tail that [`take`] has mapped, if any.
pub fn give_back(load: &Load, with_tail: &Load) {
    let (start, end) = (load.range.end, with_tail.range.end);
    if start < end {
        // SAFETY: mapped by `take`, and the program doesn't know it.
        let _ = unsafe { sys::munmap(start, end - start) };
    }
}

/// Maps zeros at `addr` if that range is free. Behind data the mapping is accounted like data:
/// otherwise the kernel wouldn't merge the VMAs, and their common page couldn't be huge.
fn map(addr: usize, len: usize, prot: c_int) -> bool {
    let mut flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    if prot & libc::PROT_WRITE == 0 {
        flags |= libc::MAP_NORESERVE;
    }
    // SAFETY: replaces nothing.
    unsafe { sys::mmap(addr, len, prot, flags | libc::MAP_FIXED_NOREPLACE, -1, 0) }.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::facts;

    /// A segment of one base page at the start of a huge page, with nothing behind it.
    fn linked(size: usize) -> Load {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: a new mapping, of which a part is unmapped.
        let room = unsafe { sys::mmap(0, 3 * size, prot, flags, -1, 0).unwrap() };
        let start = room.next_multiple_of(size);
        let end = start + sys::page_size();
        // SAFETY: memory of the test.
        unsafe { sys::munmap(end, size - sys::page_size()).unwrap() };
        Load {
            range: start..end,
            file_end: end,
            file_start: start,
            modulus: usize::MAX,
            align: size,
            next: start + size,
            prot: libc::PROT_READ,
            is_marked: false,
        }
    }

    /// Like [`linked`], writable.
    fn variables(size: usize) -> Load {
        let load = linked(size);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: memory of the test.
        unsafe { sys::mmap(load.range.start, load.range.len(), prot, flags, -1, 0).unwrap() };
        Load { prot, ..load }
    }

    #[test]
    fn free_space_behind_a_segment_is_taken_once() {
        let size = facts::thp_size();
        let load = linked(size);
        let whole = take(&load, size);
        assert_eq!(whole.range, load.range.start..load.range.start + size);
        // SAFETY: mapped by now.
        assert_eq!(unsafe { ((whole.range.end - 8) as *const usize).read() }, 0);
        assert_eq!(take(&load, size), load, "it is in use");
        give_back(&load, &whole);
        assert_eq!(take(&load, size), whole);
    }

    /// As libhugetlbfs' linker scripts made it. Otherwise it would count as changed.
    #[test]
    fn the_tail_of_executable_data_is_executable() {
        let size = facts::thp_size();
        let data = variables(size);
        let prot = data.prot | libc::PROT_EXEC;
        // SAFETY: memory of the test.
        unsafe { sys::mprotect(data.range.start, data.range.len(), prot).unwrap() };
        let load = Load { prot, ..data };
        let whole = take(&load, size);
        assert_ne!(whole, load);
        assert!(whole.loaded().is_unchanged());
        give_back(&load, &whole);
    }

    #[test]
    fn a_break_in_segment_or_tail_may_reach_the_tail() {
        let size = facts::thp_size();
        let load = linked(size);
        let end = load.range.start + size;
        for program_break in [load.range.end - 8, load.range.end, end - 8] {
            assert!(break_may_reach(program_break, &load, end));
        }
        for elsewhere in [load.range.start - 8, end] {
            assert!(!break_may_reach(elsewhere, &load, end));
        }
    }

    #[test]
    fn data_and_its_tail_are_one_mapping() {
        let size = facts::thp_size();
        let load = variables(size);
        // `take` would ask for the real program break.
        let with_tail = load.with_tail(size);
        assert!(map(
            load.range.end,
            with_tail.range.end - load.range.end,
            load.prot
        ));
        let mut buffer = vec![0; 1 << 20];
        let maps = crate::kernel::procfile::head(c"/proc/self/maps", &mut buffer);
        let maps = core::str::from_utf8(maps).unwrap();
        let ends = format!("-{:x} ", with_tail.range.end);
        let line = maps.lines().find(|line| line.contains(&ends)).unwrap();
        let start = usize::from_str_radix(line.split('-').next().unwrap(), 16).unwrap();
        assert!(start <= with_tail.range.start, "{line}");
        give_back(&load, &with_tail);
    }
}
