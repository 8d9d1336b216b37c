//! The page shared with hugectl, which waits for the program: see
//! [`hugetools_contract::report_page`]. It is mapped at the start and stays, whatever rights, root
//! or descriptors the program drops.
#![expect(unsafe_code, reason = "maps memory that another process has too")]

use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use hugetools_contract::report::{Met, Peak};
use hugetools_contract::report_page::{HEAD_LEN, LEN, Page, TEXT_LEN};
use hugetools_pages::config;
use hugetools_pages::policy::{start_facts, unmet};
use hugetools_pages::rt::path::Path;
use hugetools_pages::rt::weak;
use hugetools_pages::sys::{self, File, Filter};

use crate::loader::lock;

/// Address of the page, or 0.
static PAGE: AtomicUsize = AtomicUsize::new(0);

/// PID of the process that has the page; 0 for none.
static PROGRAM: AtomicU32 = AtomicU32::new(0);

/// PID of the process that ran our constructor or was forked; a child of `vfork(2)` finds its
/// parent's. 0 if no report is requested.
static OWN_PROCESS: AtomicU32 = AtomicU32::new(0);

/// Maps the page in the program that hugectl has started.
pub(crate) fn begin() {
    if config::get().report.is_none() {
        return;
    }
    // The report may be made on a small alternate stack.
    start_facts::take();
    let own = sys::getpid();
    OWN_PROCESS.store(own, Ordering::Release);
    weak::atfork(no_op, no_op, in_child);
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

extern "C" fn no_op() {}

/// Makes a forked child report by itself.
extern "C" fn in_child() {
    if sys::filter() != Filter::Own {
        OWN_PROCESS.store(sys::getpid(), Ordering::Release);
        unmet::set_shared_bits(None);
        lock::note_child();
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

/// Returns the page, but not in forked or `vfork` children.
fn page() -> Option<&'static Page> {
    if !is_own() {
        return None;
    }
    let at = PAGE.load(Ordering::Acquire) as *const Page;
    // SAFETY: null, or mapped for ever with this length; the type consists of atomic integers.
    unsafe { at.as_ref() }
}

/// Whether this process may report at `_exit`: not a child of `vfork(2)`.
pub(crate) fn is_own_process() -> bool {
    is_this(&OWN_PROCESS)
}

/// Whether this process has the page.
pub(crate) fn is_own() -> bool {
    is_this(&PROGRAM)
}

fn is_this(process: &AtomicU32) -> bool {
    match process.load(Ordering::Acquire) {
        // A filter may forbid getpid(2): don't call it without a report.
        0 => false,
        pid => pid == sys::getpid(),
    }
}

/// Returns the peak that hugectl has seen.
pub(crate) fn peak() -> Peak {
    page().map(Page::peak).unwrap_or_default()
}

/// Records the requirements in the page, and their failures from now on.
pub(crate) fn note_required(all: &[Met]) {
    if let Some(page) = page() {
        page.demands.set(all);
        unmet::set_shared_bits(Some(page.demands.failed()));
    }
}

/// Copies the report to the page; returns whether hugectl will print it.
pub(crate) fn publish(text: &[u8]) -> bool {
    let (Some(page), Ok(len)) = (page(), u32::try_from(text.len())) else {
        return false;
    };
    if text.len() > TEXT_LEN {
        return false;
    }
    let room = PAGE.load(Ordering::Acquire) + HEAD_LEN;
    // SAFETY: mapped for ever with this length. Only the reporting thread writes; hugectl reads
    // after this process has ended.
    let room = unsafe { core::slice::from_raw_parts_mut(room as *mut u8, text.len()) };
    room.copy_from_slice(text);
    page.publish(len);
    true
}
