//! A program that confines itself: from then on nothing is asked of the kernel
//! that the program does not expect of its malloc. libc has two doors by which
//! filters of system calls are set, `prctl` and `syscall`; both are watched here
//! and otherwise left as they are. Which calls are made then is for
//! `hugetools_pages::sys`, in its file `seccomp_filter`.
#![expect(unsafe_code, reason = "exports a function of libc")]

use core::ffi::{c_int, c_long};
use core::sync::atomic::{AtomicBool, Ordering};

use hugetools_contract::env::{self, Pages};
use hugetools_pages::config;
use hugetools_pages::extent::page_sizes::Layout;
use hugetools_pages::migrate::sigbus;
use hugetools_pages::policy::{first_look, thp};
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::sys::{self, cast};
use hugetools_pages::vmops::anon;

use crate::kernel_writes::buffers::{again, range};
use crate::next;
use crate::rt::marker;

/// `prctl(2)`. Which arguments there are depends on the first; the others are
/// passed on as they are found.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    if option == libc::PR_SET_SECCOMP {
        begin();
    }
    if is_lifted(option, a) {
        return 0;
    }
    // What it fills is no more than that, but for copies of a vector, whose length follows.
    let buffers = || core::iter::once(range(a, b.clamp(16, 4096)));
    // SAFETY: as the caller says.
    let result = again(buffers, || unsafe { next::prctl(option, a, b, c, d) });
    if option == libc::PR_SET_THP_DISABLE && result == 0 {
        note_disabled(a != 0);
    }
    result
}

/// Whether a ban of transparent huge pages is not to be carried out, since whoever started
/// the program has asked for that.
pub(crate) fn is_lifted(option: c_int, value: usize) -> bool {
    static SAID: AtomicBool = AtomicBool::new(false);
    let is_lifted = option == libc::PR_SET_THP_DISABLE && value != 0 && config::get().lift_thp_ban;
    if is_lifted && !SAID.swap(true, Ordering::Relaxed) {
        say(
            Level::Info,
            format_args!(
                "prctl(PR_SET_THP_DISABLE): not carried out, since {} is always",
                env::THP_POLICY
            ),
        );
    }
    is_lifted
}

fn note_disabled(yes: bool) {
    thp::note_disabled(yes);
    if yes {
        anon::banned();
    }
}

/// The last moment at which anything may be asked or set.
fn begin() {
    first_look::take();
    let heap = config::get().heap.filter(|pages| *pages != Pages::Thp);
    if let Some(pages) = heap.filter(|_| marker::has_heap()) {
        // The heap may come to have pages of a pool.
        sigbus::guard(Layout::of(pages).unit);
    }
    sys::note_own_filter();
}

/// Notes what a call by number is about to do.
#[inline]
pub(crate) fn watch(number: c_long, args: [usize; 6]) {
    if number == libc::SYS_seccomp || number == libc::SYS_prctl {
        note(number, cast::int(args[0]), args[1]);
    }
}

#[cold]
fn note(number: c_long, operation: c_int, value: usize) {
    /// The operations of `seccomp(2)` that set a filter: a strict one and one of
    /// the program's own.
    const SETTING: [c_int; 2] = [0, 1];
    match (number, operation) {
        (libc::SYS_seccomp, operation) if SETTING.contains(&operation) => {
            begin();
        }
        (libc::SYS_prctl, libc::PR_SET_SECCOMP) => begin(),
        (libc::SYS_prctl, libc::PR_SET_THP_DISABLE) if !is_lifted(operation, value) => {
            note_disabled(value != 0);
        }
        _ => {}
    }
}
