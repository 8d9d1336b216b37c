//! Where messages go: to descriptor 2, while it still is the file that it was when
//! the process started; or to where `hugectl --messages` has said, and then nowhere
//! else, since who asks for that has a use for standard error of its own.
//!
//! The file is open from the start: the process may drop its rights, or change its
//! root. Where it has closed it, it is opened anew by its name.

use core::ffi::c_int;
use core::sync::atomic::{AtomicPtr, Ordering};

use hugetools_contract::env::Messages;

use crate::rt::kept_file::KeptFile;
use crate::rt::path::Path;
use crate::sys::{self, File};

/// The open file.
static PLACE: KeptFile = KeptFile::none();

/// Where messages go instead of standard error; null where they do not.
static ELSEWHERE: AtomicPtr<Messages<'static>> = AtomicPtr::new(core::ptr::null_mut());

/// Finds the place, standard error where none is named; to be called once, at the
/// start.
pub fn prepare(messages: Option<&'static Messages<'static>>) {
    match messages {
        None => {
            PLACE.keep(2);
        }
        Some(messages) => {
            ELSEWHERE.store(core::ptr::from_ref(messages).cast_mut(), Ordering::Release);
            open_elsewhere(messages);
        }
    }
}

/// Whether messages are kept off standard error.
pub fn is_elsewhere() -> bool {
    elsewhere().is_some()
}

fn elsewhere() -> Option<&'static Messages<'static>> {
    let messages = ELSEWHERE.load(Ordering::Acquire);
    #[expect(unsafe_code, reason = "reads what was put there at the start")]
    // SAFETY: null, or a reference that holds for ever.
    unsafe {
        messages.as_ref()
    }
}

/// Whether somebody gets what is written now.
pub fn is_open() -> bool {
    PLACE.get().is_some() || is_elsewhere()
}

/// Writes with the descriptor, where there is one. To be called on a stack and with
/// signals as [`sys::write_quietly`] asks for.
pub fn write(bytes: &[u8]) {
    if let Some(fd) = PLACE.get() {
        let _ = sys::write_quietly(fd, bytes);
        return;
    }
    if let Some(file) = elsewhere().and_then(open) {
        let _ = sys::write_quietly(file.fd(), bytes);
    }
}

/// How many columns there are, where that is a terminal.
pub fn columns() -> Option<usize> {
    sys::columns(PLACE.get()?)
}

fn open_elsewhere(messages: &Messages<'_>) {
    let handed = messages.handed.and_then(|handed| {
        let fd = c_int::try_from(handed.number).ok()?;
        let file = sys::identity(fd)?;
        (handed.file.is_none() || handed.file == Some(file)).then_some(fd)
    });
    if let Some(fd) = handed {
        PLACE.keep(fd);
        return;
    }
    if let Some(file) = open(messages).and_then(File::out_of_the_way) {
        PLACE.keep_open(file);
    }
}

/// Opens the file by its name. A pipe that nobody reads is none.
fn open(messages: &Messages<'_>) -> Option<File> {
    let path = Path::of_bytes(messages.path?)?;
    let flags = libc::O_WRONLY | libc::O_APPEND | libc::O_CREAT | libc::O_NOCTTY | libc::O_NONBLOCK;
    File::open_mode(path.c_str(), flags, 0o666).ok()
}
