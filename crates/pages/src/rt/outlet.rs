//! The destination of messages: descriptor 2 while it is the same file as at the start, or the
//! file of `hugectl --messages`.
//!
//! The latter is inherited or opened at the start, since the process may drop privileges or change
//! its root directory later. If the program closes the descriptor, each message opens the file by
//! name.

use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering};

use hugetools_contract::env::Messages;

use crate::rt::kept_file::KeptFile;
use crate::rt::path::Path;
use crate::sys::{self, File};

static OUTPUT: KeptFile = KeptFile::none();

/// The destination if it isn't standard error; otherwise null.
static REDIRECT: AtomicPtr<Messages<'static>> = AtomicPtr::new(core::ptr::null_mut());

/// Sets the destination: standard error if `messages` is `None`. Called once, at the start.
pub fn prepare(messages: Option<&'static Messages<'static>>) {
    match messages {
        None => {
            OUTPUT.keep(2);
        }
        Some(messages) => {
            REDIRECT.store(core::ptr::from_ref(messages).cast_mut(), Ordering::Release);
            open_redirect(messages);
        }
    }
}

/// Whether messages go to a destination other than standard error.
pub fn is_redirected() -> bool {
    redirect().is_some()
}

fn redirect() -> Option<&'static Messages<'static>> {
    let messages = REDIRECT.load(Ordering::Acquire);
    #[expect(unsafe_code, reason = "reads a reference that was stored at the start")]
    // SAFETY: null, or a reference with static lifetime.
    unsafe {
        messages.as_ref()
    }
}

/// Whether messages have a destination.
pub fn is_open() -> bool {
    OUTPUT.get().is_some() || is_redirected()
}

/// Writes to the destination, if there is one. Ignores errors.
pub fn write(bytes: &[u8]) {
    if let Some(fd) = OUTPUT.get() {
        let _ = sys::write_quietly(fd, bytes);
        return;
    }
    if let Some(file) = redirect().and_then(open) {
        let _ = sys::write_quietly(file.fd(), bytes);
    }
}

fn open_redirect(messages: &Messages<'_>) {
    let inherited = messages.inherited.and_then(|inherited| {
        let fd = c_int::try_from(inherited.number).ok()?;
        let file = sys::identity(fd)?;
        (inherited.file.is_none() || inherited.file == Some(file)).then_some(fd)
    });
    if let Some(fd) = inherited {
        OUTPUT.keep(fd);
        return;
    }
    if let Some(file) = open(messages).and_then(File::with_high_number) {
        OUTPUT.keep_open(file);
    }
}

/// Opens the file by name. `O_NONBLOCK`: fails for a pipe without a reader instead of waiting.
fn open(messages: &Messages<'_>) -> Option<File> {
    let path = Path::of_bytes(messages.path?)?;
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOCTTY | libc::O_NONBLOCK;
    File::open_mode(path.c_str(), flags, 0o666).ok()
}
