//! The handler of `SIGSEGV`, for faults that are of our making.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::fault::sigchain::Handler;

/// Whether a fault at this address was of our making, and is mended.
pub type Mend = fn(usize) -> bool;

/// See the module.
pub static HANDLER: Handler = Handler::new(libc::SIGSEGV, mend, on_sigsegv);

/// Those that know faults, as numbers; 0 for none.
static KNOWN: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

/// Puts up the handler, which from now on asks `mend` as well; whether it was
/// not up.
pub fn install(mend: Mend) -> bool {
    let number = mend as usize;
    for place in &KNOWN {
        let taken = place.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire);
        if taken.is_ok() || taken == Err(number) {
            break;
        }
    }
    HANDLER.insist()
}

#[expect(unsafe_code, reason = "calls functions by number")]
fn mend(addr: usize) -> bool {
    KNOWN
        .iter()
        .any(|place| match place.load(Ordering::Acquire) {
            0 => false,
            number => {
                // SAFETY: `install` has put the number of such a function there.
                let mend = unsafe { core::mem::transmute::<usize, Mend>(number) };
                mend(addr)
            }
        })
}

#[expect(unsafe_code, reason = "is entered by the kernel")]
extern "C" fn on_sigsegv(_signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel's own arguments.
    unsafe { HANDLER.enter(info, context) };
}
