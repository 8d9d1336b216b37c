//! What is known by address: the regions and windows that we handed out, and
//! the program and its libraries by their program headers.
#![expect(unsafe_code, reason = "reads what the loader knows")]

use core::ffi::{CStr, c_int, c_void};

use hugetools_contract::segment::{Extent, Segment};
use hugetools_pages::{facts, register};

use crate::region;

/// A list that is filled from the front.
pub(crate) struct Extents {
    places: &'static mut [Extent<'static>],
    len: usize,
    exe: &'static [u8],
}

impl Extents {
    /// Finds all extents, at most as many as there are places. `exe` is the
    /// name of the program, which the loader does not tell.
    pub(crate) fn find(places: &'static mut [Extent<'static>], exe: &'static [u8]) -> Extents {
        let mut extents = Extents {
            places,
            len: 0,
            exe,
        };
        for window in register::windows() {
            extents.put(window.base, window.base + window.len, Segment::Heap, None);
        }
        region::open().each(|region| {
            let range = region.mapped();
            extents.put(range.start, range.end, Segment::Shm, None);
        });
        let data = (&raw mut extents).cast::<c_void>();
        // SAFETY: the callback takes this list, which outlives the call.
        unsafe { libc::dl_iterate_phdr(Some(visit), data) };
        extents
    }

    /// What was found.
    pub(crate) fn all(&self) -> &[Extent<'static>] {
        &self.places[..self.len]
    }

    fn put(&mut self, start: usize, end: usize, segment: Segment, object: Option<&'static [u8]>) {
        if let Some(place) = self.places.get_mut(self.len) {
            *place = Extent {
                start: start as u64,
                end: end as u64,
                segment,
                object,
            };
            self.len += 1;
        }
    }

    fn put_object(&mut self, base: usize, name: &'static [u8], headers: &[libc::Elf64_Phdr]) {
        let page = facts::page_size();
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(0);
        for header in headers
            .iter()
            .filter(|header| header.p_type == libc::PT_LOAD)
        {
            let start = base.wrapping_add(size(header.p_vaddr));
            let file_end = start.wrapping_add(size(header.p_filesz));
            let end = start
                .wrapping_add(size(header.p_memsz))
                .next_multiple_of(page);
            let start = start / page * page;
            if header.p_flags & libc::PF_W == 0 {
                self.put(start, end, Segment::Text, Some(name));
            } else {
                self.put(start, file_end, Segment::Data, Some(name));
                self.put(file_end, end, Segment::Bss, Some(name));
            }
        }
    }
}

unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    extents: *mut c_void,
) -> c_int {
    // SAFETY: the loader gives a valid description.
    let info = unsafe { &*info };
    // SAFETY: what `find` passed, which nobody else uses meanwhile.
    let extents = unsafe { &mut *extents.cast::<Extents>() };
    let name = match info.dlpi_name.is_null() {
        true => &[],
        // SAFETY: a C string of the loader's, which stays while the object is
        // loaded.
        false => unsafe { CStr::from_ptr(info.dlpi_name) }.to_bytes(),
    };
    // The vdso has no file and is nobody's text.
    if name.is_empty() && extents.named_exe() {
        return 0;
    }
    let name = if name.is_empty() { extents.exe } else { name };
    // SAFETY: so many headers are there.
    let headers =
        unsafe { core::slice::from_raw_parts(info.dlpi_phdr, usize::from(info.dlpi_phnum)) };
    if !name.starts_with(b"linux-vdso") && !name.starts_with(b"linux-gate") {
        extents.put_object(usize::try_from(info.dlpi_addr).unwrap_or(0), name, headers);
    }
    0
}

impl Extents {
    fn named_exe(&self) -> bool {
        self.all()
            .iter()
            .any(|extent| extent.object == Some(self.exe))
    }
}
