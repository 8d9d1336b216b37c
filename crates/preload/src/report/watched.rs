//! What this process shares with the watcher of the report, which tells what
//! this library cannot: an end by a signal, or by a system call of the program's
//! own.
//!
//! The memory is mapped at the start and stays, so that a program may drop its
//! rights, change its root and close all descriptors. A forked child shares it
//! with its parent, and is another process.
#![expect(unsafe_code, reason = "maps memory that another process has too")]

use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use hugetools_contract::env::Report;
use hugetools_contract::report::{Met, Peak};
use hugetools_contract::watch::{HEAD_LEN, Page, Slot, TEXT_LEN, text_at};
use hugetools_kernfs::number;
use hugetools_pages::config;
use hugetools_pages::policy::witnessed;
use hugetools_pages::rt::path::Path;
use hugetools_pages::rt::weak;
use hugetools_pages::sys::{self, File, Filter};

/// Where the page is mapped, or 0; which slot is ours, where its text is mapped.
static PAGE: AtomicUsize = AtomicUsize::new(0);
static SLOT: AtomicUsize = AtomicUsize::new(0);
static TEXT: AtomicUsize = AtomicUsize::new(0);

/// Whether this process knows itself by the number that it has where the watcher is.
static NUMBERS: AtomicBool = AtomicBool::new(false);

/// The process whose slot it is, as it knows itself.
static PID: AtomicU32 = AtomicU32::new(0);

/// The process in which the library began, or that was forked, watched or not; 0 where
/// no report is asked for.
static BEGAN: AtomicU32 = AtomicU32::new(0);

/// Finds this process's slot, and says what its last image has left to say.
pub(crate) fn begin(send: impl FnOnce(&[u8])) {
    if config::get().report.is_some() {
        BEGAN.store(sys::getpid(), Ordering::Release);
    }
    if matches!(config::get().report, Some(Report::File(_))) {
        weak::atfork(nothing, nothing, in_child);
    }
    let watcher = config::get().watcher;
    let Some(slot) = watcher.and_then(|(pid, fd)| attach(pid, fd)) else {
        return;
    };
    if let Some(text) = take_text(slot) {
        send(text);
    }
    slot.set_peak(&Peak::default());
    if slot.forked.swap(0, Ordering::Relaxed) == 0 {
        // The slot may be another's of the same number, who left it.
        slot.began.store(0, Ordering::Relaxed);
    }
    slot.demands.set(&[]);
    slot.image.fetch_add(1, Ordering::AcqRel);
    PID.store(sys::getpid(), Ordering::Release);
}

extern "C" fn nothing() {}

/// A child that was forked is a process of its own. It leaves nothing for the
/// image after it: it was but the way to it.
extern "C" fn in_child() {
    if sys::filter() == Filter::Own {
        return;
    }
    BEGAN.store(sys::getpid(), Ordering::Release);
    // What it has is not what its parent has, from here on.
    witnessed::set(None);
    let parent = SLOT.load(Ordering::Relaxed);
    let claim = || page()?.claim(own_number()?);
    let Some(index) = claim().filter(|index| *index != parent) else {
        return;
    };
    let asked = page().and_then(|page| page.slots.get(parent));
    SLOT.store(index, Ordering::Relaxed);
    TEXT.store(0, Ordering::Relaxed);
    if let Some(slot) = page().and_then(|page| page.slots.get(index)) {
        slot.began.store(sys::since_boot(), Ordering::Relaxed);
        slot.forked.store(1, Ordering::Relaxed);
        if let Some(asked) = asked {
            slot.demands.take_over(&asked.demands);
        }
        witnessed::set(Some(slot.demands.failed()));
        slot.image.fetch_add(1, Ordering::AcqRel);
        PID.store(sys::getpid(), Ordering::Release);
    }
}

fn attach(pid: u32, fd: u32) -> Option<&'static Slot> {
    let path = Path::of(format_args!("/proc/{pid}/fd/{fd}"))?;
    let file = File::open(path.c_str(), libc::O_RDWR).ok()?;
    if file.size() != Some(hugetools_contract::watch::LEN) {
        return None;
    }
    let at = map(&file, HEAD_LEN, 0)?;
    PAGE.store(at, Ordering::Release);
    let number = own_number()?;
    NUMBERS.store(number == sys::getpid(), Ordering::Relaxed);
    let index = page()?.claim(number)?;
    SLOT.store(index, Ordering::Release);
    TEXT.store(map(&file, TEXT_LEN, text_at(index))?, Ordering::Release);
    page()?.slots.get(index)
}

fn map(file: &File, len: usize, offset: usize) -> Option<usize> {
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: a new mapping.
    unsafe { sys::mmap(0, len, prot, libc::MAP_SHARED, file.fd(), offset) }.ok()
}

/// The number of this process where the watcher's `/proc` was found: not its own
/// in a namespace of its own. A child of a program that has locked itself in has no `/proc`,
/// and goes by its own numbers where these are the same.
fn own_number() -> Option<u32> {
    let mut buffer = [0; 32];
    let Ok(len) = sys::read_link(c"/proc/self", &mut buffer) else {
        let is_same = NUMBERS.load(Ordering::Relaxed);
        return Some(sys::getpid()).filter(|pid| is_same && *pid > 1);
    };
    number::leading(buffer.get(..len)?).and_then(|pid| u32::try_from(pid).ok())
}

fn page() -> Option<&'static Page> {
    let at = PAGE.load(Ordering::Acquire) as *const Page;
    // SAFETY: null, or mapped for ever, of this length at least, and all of it
    // are atomic numbers, which may have any value.
    unsafe { at.as_ref() }
}

/// The slot of this process; none in a child that was forked.
fn own() -> Option<&'static Slot> {
    let slot = page()?.slots.get(SLOT.load(Ordering::Relaxed))?;
    is_own().then_some(slot)
}

/// Whether this process may report where it ends at once: not one that still shares all
/// memory with its parent.
pub(crate) fn has_begun() -> bool {
    match BEGAN.load(Ordering::Acquire) {
        // A program that confines itself need not expect the call.
        0 => false,
        began => began == sys::getpid(),
    }
}

/// Whether the library began in this process and is watched: not in a child that was
/// forked, or that still shares all memory with its parent.
pub(crate) fn is_own() -> bool {
    match PID.load(Ordering::Acquire) {
        0 => false,
        pid => pid == sys::getpid(),
    }
}

/// The most that the watcher has seen.
pub(crate) fn peak() -> Peak {
    own().map(Slot::peak).unwrap_or_default()
}

/// When this process was forked, in milliseconds since the machine was started, where
/// that was seen.
pub(crate) fn began() -> Option<u64> {
    let began = own()?.began.load(Ordering::Relaxed);
    (began > 0).then_some(began)
}

/// When a process that was started then began as one that is watched; both in
/// milliseconds since the machine was started.
pub(crate) fn start(of_process: u64) -> u64 {
    let watch = page().map(|page| page.began.load(Ordering::Relaxed));
    of_process.max(watch.unwrap_or(0))
}

/// Notes what is required of this image, and from now on when it is not kept.
pub(crate) fn note_required(all: &[Met]) {
    if let Some(slot) = own() {
        slot.demands.set(all);
        witnessed::set(Some(slot.demands.failed()));
    }
}

/// Notes that the report of this image is made.
pub(crate) fn note_told() {
    if let Some(slot) = own() {
        slot.note_told();
    }
}

/// Whether a report can be left.
pub(crate) fn has_room() -> bool {
    is_own() && TEXT.load(Ordering::Acquire) != 0
}

/// Leaves a report for whoever comes after this image: the library in the next
/// one, or the watcher, which alone is there where the process ends. Whether
/// there is room for it.
pub(crate) fn leave(text: &[u8], is_final: bool) -> bool {
    let (Some(slot), Ok(len)) = (own(), u32::try_from(text.len())) else {
        return false;
    };
    let Some(room) = text_room().and_then(|room| room.get_mut(..text.len())) else {
        return false;
    };
    room.copy_from_slice(text);
    slot.leave(len, is_final);
    true
}

/// Takes it back: this image goes on.
pub(crate) fn stay() {
    if let Some(slot) = own() {
        slot.stay();
    }
}

/// Takes what the last image has left, unless the watcher has.
fn take_text(slot: &Slot) -> Option<&'static [u8]> {
    let (len, _) = slot.take_text()?;
    text_room()?.get(..len)
}

fn text_room() -> Option<&'static mut [u8]> {
    match TEXT.load(Ordering::Acquire) {
        0 => None,
        // SAFETY: mapped for ever, of this length. Only the one thread that makes
        // a report is here, or the first one at the start; the watcher reads it
        // only once this image is gone.
        at => Some(unsafe { core::slice::from_raw_parts_mut(at as *mut u8, TEXT_LEN) }),
    }
}
