//! Address ranges whose segment is known: the heap, shared regions and loaded objects.

use core::ops::ControlFlow;

use hugetools_contract::segment::{Extent, Segment};
use hugetools_pages::extent::{Holds, index};
use hugetools_pages::registry::shared;
use hugetools_pages::sys;

use crate::loader::lock;
use crate::loader::objects::{self, Object};
use crate::rt::scratch;

/// Ranges whose segment is known.
pub(crate) struct Extents {
    list: &'static mut [Extent<'static>],
    len: usize,
    exe: &'static [u8],
    names: &'static mut [u8],
}

const UNUSED: Extent<'static> = Extent {
    start: 0,
    end: 0,
    segment: Segment::File,
    object: None,
};

/// Bytes for all names of libraries. A library whose name does not fit is reported without it.
const NAMES: usize = 64 << 10;

impl Extents {
    /// Collects at most `most` ranges. `exe` is the program's path, which glibc's list lacks.
    /// `None` without memory.
    pub(crate) fn collect(most: usize, exe: &'static [u8]) -> Option<Extents> {
        let mut known = Extents {
            list: scratch::values(most, UNUSED)?,
            len: 0,
            exe,
            names: scratch::bytes(NAMES).unwrap_or_default(),
        };
        for extent in index::extents().filter(|extent| extent.holds == Holds::Heap) {
            known.put(extent.base, extent.base + extent.len, Segment::Heap, None);
        }
        shared::lock_table().each(|region| {
            let range = region.mapped();
            known.put(range.start, range.end, Segment::Shm, None);
        });
        let put = |object: &Object<'_>| {
            known.add_object(object);
            ControlFlow::Continue(())
        };
        // Without the list, code and data count as mapped files.
        if !lock::may_be_stuck() {
            objects::each(put);
        }
        Some(known)
    }

    pub(crate) fn all(&self) -> &[Extent<'static>] {
        &self.list[..self.len]
    }

    fn put(&mut self, start: usize, end: usize, segment: Segment, object: Option<&'static [u8]>) {
        if let Some(place) = self.list.get_mut(self.len) {
            *place = Extent {
                start: start as u64,
                end: end as u64,
                segment,
                object,
            };
            self.len += 1;
        }
    }

    fn copy_name(&mut self, name: &[u8]) -> Option<&'static [u8]> {
        if name.len() > self.names.len() {
            return None;
        }
        let (place, rest) = core::mem::take(&mut self.names).split_at_mut(name.len());
        place.copy_from_slice(name);
        self.names = rest;
        Some(place)
    }

    fn add_object(&mut self, object: &Object<'_>) {
        if object.is_vdso() {
            return;
        }
        let name = match object.is_program {
            true => Some(self.exe),
            // The loader frees its string with the object.
            false => self.copy_name(object.name.to_bytes()),
        };
        let (base, page) = (object.base, sys::page_size());
        let size = |bytes: u64| usize::try_from(bytes).unwrap_or(0);
        for header in object
            .headers
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
                self.put(start, end, Segment::Text, name);
            } else {
                self.put(start, file_end, Segment::Data, name);
                self.put(file_end, end, Segment::Bss, name);
            }
        }
    }
}
