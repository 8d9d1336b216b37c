//! Where the kernel tells of this process.
//!
//! `/proc/self` is about its first thread. Once that one has ended and others run on, as
//! after `pthread_exit` in `main`, it says nothing of memory and of open files, or that
//! there are none. `/proc/thread-self` (Linux 3.17) says the same of any thread.

use core::ffi::CStr;
use core::sync::atomic::{AtomicUsize, Ordering};

use crate::sys::call::{Result, thread_name};

/// The first thread by name, where that is known; 0 where it is not.
static FIRST: AtomicUsize = AtomicUsize::new(0);

/// Notes that this thread is the first one of its process: at the beginning, or in the
/// child of a fork.
pub fn note_first_thread() {
    FIRST.store(thread_name(), Ordering::Relaxed);
}

/// Makes a call by a path: where that is about a first thread which has ended, by the path
/// that is about this thread.
pub(super) fn told<T>(path: &CStr, call: impl Fn(&CStr) -> Result<T>) -> Result<T> {
    let of_process = path.to_bytes().strip_prefix(b"/proc/self/");
    // Of the threads themselves it goes on to tell.
    let ends_with_first = of_process.filter(|name| !name.starts_with(b"task"));
    let of_thread = ends_with_first.filter(|_| has_first_ended());
    match of_thread.and_then(OfThread::file) {
        Some(of_thread) => call(of_thread.path()).or_else(|_| call(path)),
        None => call(path),
    }
}

/// Whether it may have: a thread that has ended is in no namespace.
fn has_first_ended() -> bool {
    FIRST.load(Ordering::Relaxed) != thread_name() && super::stat_of(c"/proc/self/ns/mnt").is_err()
}

/// A path below `/proc/thread-self`, and how long it is.
struct OfThread([u8; OfThread::ROOM], usize);

impl OfThread {
    /// Those that are asked for are short.
    const ROOM: usize = 64;

    fn file(name: &[u8]) -> Option<OfThread> {
        const FOLDER: &[u8] = b"/proc/thread-self/";
        let len = FOLDER.len() + name.len();
        let mut path = [0; OfThread::ROOM];
        // One byte stays zero, to end the string.
        let (folder, rest) = path[..OfThread::ROOM - 1].split_at_mut(FOLDER.len());
        folder.copy_from_slice(FOLDER);
        rest.get_mut(..name.len())?.copy_from_slice(name);
        Some(OfThread(path, len))
    }

    fn path(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.0[..=self.1]).unwrap_or(c"")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_file_of_a_thread() {
        let file = |name: &[u8]| OfThread::file(name).map(|file| file.path().to_owned());
        assert_eq!(file(b"maps").as_deref(), Some(c"/proc/thread-self/maps"));
        assert_eq!(file(b"").as_deref(), Some(c"/proc/thread-self/"));
        assert!(file(&[b'x'; OfThread::ROOM - 19]).is_some());
        assert_eq!(file(&[b'x'; OfThread::ROOM - 18]), None);
    }

    #[test]
    fn a_first_thread_that_runs_is_asked() {
        // The test runner's, which waits for this one.
        assert!(!has_first_ended());
        let seen = told(c"/proc/self/maps", |path| Ok(path == c"/proc/self/maps"));
        assert_eq!(seen, Ok(true));
    }
}
