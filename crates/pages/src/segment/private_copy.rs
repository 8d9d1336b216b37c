//! Limits private copies of code: processes share the file's own pages, but not a private copy.
//! Under hugectl only the program that it started makes copies, of limited size; wrappers and
//! helpers make none.

use core::sync::atomic::{AtomicUsize, Ordering};

use super::reason::Reason;
use crate::kernel::facts;
use crate::rt::path::Path;
use crate::{config, sys};

/// Private copies may take this fraction of the available memory: 1/16.
const MEMORY_DIVISOR: usize = 16;

/// Bytes of private copies so far.
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
    let limit = facts::available_memory().unwrap_or(0) / MEMORY_DIVISOR;
    let copied = COPIED.load(Ordering::Relaxed).saturating_add(len);
    if copied > limit {
        return Err(Reason::TooMuch);
    }
    COPIED.store(copied, Ordering::Relaxed);
    Ok(())
}

fn is_running(program: &[u8]) -> bool {
    let wanted = Path::of_bytes(program).and_then(|path| sys::identity_of(path.c_str()));
    wanted.is_some() && wanted == sys::identity_of(c"/proc/self/exe")
}
