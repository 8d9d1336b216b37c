//! Which pages a heap is to have, and when a small beginning has grown: what arenas and
//! blocks with extents of their own have in common.

use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use hugetools_contract::env::Pages;
use hugetools_pages::config;
use hugetools_pages::extent::page_sizes::Layout;
use hugetools_pages::heap::commit::Wish;
use hugetools_pages::heap::promote;
use hugetools_pages::rt::fork_gate;

/// Whether an extent is being handed over: what mimalloc takes into use then
/// are its own tables.
pub(crate) static HANDING_OVER: AtomicBool = AtomicBool::new(false);

/// Whether the heap is to have huge pages: not in a program that
/// `HUGETLB_RESTRICT_EXE` leaves out, or that is set-user-id.
pub(crate) fn wish() -> Wish {
    match config::get().heap {
        Some(_) => Wish::Best,
        None => Wish::Plain,
    }
}

/// Which huge pages the heap is to have.
pub(crate) fn layout() -> Layout {
    static KNOWN: [AtomicUsize; 3] = [const { AtomicUsize::new(usize::MAX) }; 3];
    let [unit, huge, big] = &KNOWN;
    if big.load(Ordering::Acquire) == usize::MAX {
        let layout = Layout::of(config::get().heap.unwrap_or(Pages::Thp));
        unit.store(layout.unit, Ordering::Relaxed);
        huge.store(usize::from(layout.huge), Ordering::Relaxed);
        big.store(layout.big, Ordering::Release);
    }
    Layout {
        unit: unit.load(Ordering::Relaxed),
        huge: huge.load(Ordering::Relaxed) == 1,
        big: big.load(Ordering::Relaxed),
    }
}

/// The same for a block of so many bytes with an extent of its own: no larger page than
/// it fills.
pub(crate) fn of_block(len: usize) -> Layout {
    let layout = layout();
    match len < layout.big {
        true => Layout { big: 0, ..layout },
        false => layout,
    }
}

/// Sees to the small beginning of a heap that has grown: once there is room for
/// others, since it may take a while, and they go on meanwhile.
pub(crate) fn watch_growth() {
    if !HANDING_OVER.load(Ordering::Acquire) {
        let _pass = fork_gate::GATE.pass();
        promote::watch();
    }
}
