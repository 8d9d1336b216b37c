//! Transparent huge pages: asking for them.
#![expect(unsafe_code, reason = "advises memory by address")]

use hugetools_contract::env::Fallback;

use crate::unit::State;
use crate::{config, sys};

/// Advises memory to be on the pages of the fallback; what it is then.
///
/// # Safety
/// The range must be mapped by us.
pub unsafe fn advise(addr: usize, len: usize) -> State {
    let (advice, state) = match config::get().fallback {
        Fallback::Thp | Fallback::None => (libc::MADV_HUGEPAGE, State::Thp),
        Fallback::Base => (libc::MADV_NOHUGEPAGE, State::Base),
    };
    // SAFETY: the advice changes no contents.
    match unsafe { sys::madvise(addr, len, advice) } {
        Ok(()) => state,
        // Without CONFIG_TRANSPARENT_HUGEPAGE.
        Err(_) => State::Base,
    }
}
