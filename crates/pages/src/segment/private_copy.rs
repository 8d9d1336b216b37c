//! Whether code may be copied privately. Processes share the file's own pages, but not a private
//! copy. So under hugectl only the program that hugectl itself started makes one, not wrappers and
//! helpers, and only of limited size.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::reason::Reason;
use crate::kernel::facts;
use crate::rt::path::Path;
use crate::{config, sys};

/// Copies take at most the available memory divided by this.
const PART: usize = 16;

static COPIED: AtomicUsize = AtomicUsize::new(0);

/// Whether a private copy may be made.
pub fn may_copy() -> Result<(), Reason> {
    let Some(copy) = config::get().text_copy else {
        return Ok(());
    };
    if copy.pid != sys::getpid() || !is_running(copy.program) {
        return Err(Reason::Wrapper);
    }
    Ok(())
}

/// Counts the memory of a private copy; fails beyond the limit.
pub fn take_memory(len: usize) -> Result<(), Reason> {
    if config::get().text_copy.is_none() {
        return Ok(());
    }
    let most = facts::available_memory().unwrap_or(0) / PART;
    let copied = COPIED.load(Ordering::Relaxed).saturating_add(len);
    if copied > most {
        return Err(Reason::TooMuch);
    }
    COPIED.store(copied, Ordering::Relaxed);
    Ok(())
}

fn is_running(program: &[u8]) -> bool {
    let wanted = Path::of_bytes(program).and_then(|path| sys::identity_of(path.c_str()));
    wanted.is_some() && wanted == sys::identity_of(c"/proc/self/exe")
}
