//! What a report needs of `/proc`, kept by a program that changes its root: in the
//! new one there may be none.
//!
//! It is a plain file that stays open, not a folder, by which one could leave the
//! new root again.
#![expect(unsafe_code, reason = "reads a copy that stays")]

use core::ffi::{CStr, c_int};
use core::sync::atomic::{AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use hugetools_pages::config;
use hugetools_pages::config::leaked_copy::keep;
use hugetools_pages::rt::kept_file::KeptFile;
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::sys::{self, File};

use crate::report::shared_page;
use crate::rt::{marker, scratch};

const SMAPS: &CStr = c"/proc/self/smaps";

/// The open file, and whose memory it shows.
static OPEN: KeptFile = KeptFile::none();
static OWNER: AtomicU32 = AtomicU32::new(0);

/// The path of the program, and how long it is.
static EXE: AtomicPtr<u8> = AtomicPtr::new(core::ptr::null_mut());
static EXE_LEN: AtomicUsize = AtomicUsize::new(0);

/// Keeps it, where a report may be asked for; the first time only.
pub(crate) fn prepare() {
    if !marker::is_first() || config::get().report.is_none() {
        return;
    }
    if OWNER.swap(sys::getpid(), Ordering::AcqRel) == sys::getpid() {
        return;
    }
    if let Some(exe) = scratch::link(c"/proc/self/exe").and_then(keep) {
        EXE_LEN.store(exe.len(), Ordering::Relaxed);
        EXE.store(exe.as_ptr().cast_mut(), Ordering::Release);
    }
    let file = File::open(SMAPS, libc::O_RDONLY).ok();
    if let Some(file) = file.and_then(File::out_of_the_way) {
        OPEN.keep_open(file);
    }
}

/// What the kernel says of the mappings of this process; where it cannot be had,
/// that is said.
pub(crate) fn smaps() -> Option<&'static [u8]> {
    let text = scratch::read(SMAPS).or_else(|| scratch::read_open(kept()?));
    if text.is_none() {
        let report = match shared_page::is_own() {
            true => "the report is what was last seen",
            false => "no report",
        };
        say(
            Level::Warning,
            format_args!("{report}: /proc cannot be read here"),
        );
    }
    text
}

/// The path of the program.
pub(crate) fn exe() -> Option<&'static [u8]> {
    scratch::link(c"/proc/self/exe").or_else(|| {
        let (exe, len) = (EXE.load(Ordering::Acquire), EXE_LEN.load(Ordering::Relaxed));
        // SAFETY: both are of one copy that stays for ever.
        (!exe.is_null()).then(|| unsafe { core::slice::from_raw_parts(exe, len) })
    })
}

/// The open file, if it is still that and shows this process, not its parent.
fn kept() -> Option<c_int> {
    let is_own = OWNER.load(Ordering::Acquire) == sys::getpid();
    OPEN.get().filter(|_| is_own)
}
