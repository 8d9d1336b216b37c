//! The heap in figures, as `mallinfo2` and its like tell them.
#![expect(unsafe_code, reason = "lets mimalloc visit its pages")]

use core::ffi::c_void;

use crate::large_blocks::mapped;
use hugetools_pages::extent::stats::Stats;

use crate::arena;
use crate::large_blocks::growing;
use crate::mimalloc::{self, HeapArea};

/// Figures of all threads together. Other threads may change them while they
/// are taken.
#[derive(Clone, Copy, Default)]
pub(crate) struct Figures {
    /// Bytes that mimalloc has for its pages and tables.
    pub(crate) arenas: usize,
    /// Bytes of blocks of the program there.
    pub(crate) used: usize,
    /// Blocks there that wait to be used again.
    pub(crate) free_blocks: usize,
    /// Large blocks with extents of their own.
    pub(crate) large: usize,
    /// The bytes of those.
    pub(crate) large_bytes: usize,
    /// The most that `arenas` has been.
    pub(crate) peak: usize,
    /// Address space of the arenas.
    pub(crate) managed: usize,
    /// Bytes on pages of hugetlb pools, whole pages.
    pub(crate) hugetlb: usize,
    /// Bytes that are advised to be on transparent huge pages.
    pub(crate) transparent: usize,
}

impl Figures {
    /// The figures as they are now.
    pub(crate) fn take() -> Figures {
        if !arena::ready() {
            return Figures::default();
        }
        Figures::find()
    }

    fn find() -> Figures {
        let stats = Stats::take();
        let blocks = mapped::blocks();
        let large_bytes = blocks.bytes + growing::bytes();
        let mut figures = Figures {
            arenas: stats.taken.saturating_sub(large_bytes),
            large: blocks.count + growing::count(),
            large_bytes,
            peak: arena::peak(),
            managed: arena::managed(),
            hugetlb: stats.hugetlb,
            transparent: stats.transparent,
            ..Figures::default()
        };
        figures.visit();
        figures.peak = figures.peak.max(figures.arenas);
        figures
    }

    /// Bytes of the arenas that no block of the program has.
    pub(crate) fn free(&self) -> usize {
        self.arenas.saturating_sub(self.used)
    }

    /// Adds up mimalloc's pages.
    fn visit(&mut self) {
        let this = core::ptr::from_mut(self).cast::<c_void>();
        // SAFETY: `visit_page` takes what is given here. mimalloc's own tables
        // of its pages, which are all that is read, stay for ever.
        unsafe { mimalloc::mi_heap_visit_blocks(core::ptr::null_mut(), false, visit_page, this) };
    }

    fn add(&mut self, area: &HeapArea) {
        let blocks = area.committed.checked_div(area.full_block_size);
        self.used += area.used * area.full_block_size;
        self.free_blocks += blocks.unwrap_or(0).saturating_sub(area.used);
    }
}

unsafe extern "C" fn visit_page(
    _heap: *const c_void,
    area: *const HeapArea,
    _block: *mut c_void,
    _size: usize,
    figures: *mut c_void,
) -> bool {
    // SAFETY: what `visit` gave, and nobody else has it meanwhile.
    let figures = unsafe { &mut *figures.cast::<Figures>() };
    // SAFETY: mimalloc's own variable.
    figures.add(unsafe { &*area });
    true
}
