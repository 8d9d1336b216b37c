//! The page that the program shares with hugectl, which waits for it: see
//! [`hugetools_contract::report_page`].
//!
//! The page is mapped at the start and stays, so that the program may drop its rights,
//! change its root and close all descriptors.
#![expect(unsafe_code, reason = "maps memory that another process has too")]

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use hugetools_contract::report::{Met, Peak};
use hugetools_contract::report_page::{HEAD_LEN, LEN, Page, TEXT_LEN};
use hugetools_pages::config;
use hugetools_pages::policy::witnessed;
use hugetools_pages::rt::path::Path;
use hugetools_pages::rt::weak;
use hugetools_pages::sys::{self, File, Filter};

/// Where the page is mapped, or 0.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// The program that has the page; 0 for none.
static PROGRAM: AtomicU32 = AtomicU32::new(0);

/// The process in which the library began, or that was forked; 0 where no report is asked
/// for.
static BEGAN: AtomicU32 = AtomicU32::new(0);

/// Maps the page, in the program that hugectl has started.
pub(crate) fn begin() {
    if config::get().report.is_none() {
        return;
    }
    let own = sys::getpid();
    BEGAN.store(own, Ordering::Release);
    weak::atfork(nothing, nothing, in_child);
    let watcher = config::get().watcher;
    let Some(watcher) = watcher.filter(|watcher| watcher.program == own) else {
        return;
    };
    if let Some(at) = map(watcher.pid, watcher.fd) {
        PAGE.store(at, Ordering::Release);
        PROGRAM.store(own, Ordering::Release);
    }
    if let Some(page) = page() {
        page.images.fetch_add(1, Ordering::AcqRel);
    }
}

extern "C" fn nothing() {}

/// A child is a process of its own, which reports by itself.
extern "C" fn in_child() {
    if sys::filter() != Filter::Own {
        BEGAN.store(sys::getpid(), Ordering::Release);
        witnessed::set(None);
    }
}

fn map(pid: u32, fd: u32) -> Option<usize> {
    let path = Path::of(format_args!("/proc/{pid}/fd/{fd}"))?;
    let file = File::open(path.c_str(), libc::O_RDWR).ok()?;
    if file.size() != Some(LEN) {
        return None;
    }
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping.
    unsafe { sys::mmap(0, LEN, prot, libc::MAP_SHARED, file.fd(), 0) }.ok()
}

/// The page, in the program itself: no forked child of it, nor one that still shares all
/// memory with it.
fn page() -> Option<&'static Page> {
    if !is_own() {
        return None;
    }
    let at = PAGE.load(Ordering::Acquire) as *const Page;
    // SAFETY: null, or mapped for ever, of this length at least, and all of it are atomic
    // numbers, which may have any value.
    unsafe { at.as_ref() }
}

/// Whether this process may report where it ends at once: no child of `vfork(2)`, which
/// still shares all memory with its parent.
pub(crate) fn has_begun() -> bool {
    match BEGAN.load(Ordering::Acquire) {
        // A program that confines itself need not expect the call.
        0 => false,
        began => began == sys::getpid(),
    }
}

/// Whether this process is the program that has the page.
pub(crate) fn is_own() -> bool {
    match PROGRAM.load(Ordering::Acquire) {
        0 => false,
        program => program == sys::getpid(),
    }
}

/// The most that hugectl has seen.
pub(crate) fn peak() -> Peak {
    page().map(Page::peak).unwrap_or_default()
}

/// Notes what is required of the program, and from now on when it is not kept.
pub(crate) fn note_required(all: &[Met]) {
    if let Some(page) = page() {
        page.demands.set(all);
        witnessed::set(Some(page.demands.failed()));
    }
}

/// Leaves the report for hugectl to print; whether it can.
pub(crate) fn leave(text: &[u8]) -> bool {
    let (Some(page), Ok(len)) = (page(), u32::try_from(text.len())) else {
        return false;
    };
    if text.len() > TEXT_LEN {
        return false;
    }
    let room = PAGE.load(Ordering::Acquire) + HEAD_LEN;
    // SAFETY: mapped for ever, of this length. Only the one thread that makes a report is
    // here; hugectl reads the room once this process has ended.
    let room = unsafe { core::slice::from_raw_parts_mut(room as *mut u8, text.len()) };
    room.copy_from_slice(text);
    page.publish(len);
    true
}
