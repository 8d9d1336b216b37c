//! Reads small kernel files into buffers on the stack.

use core::ffi::CStr;

use hugetools_kernfs::{keyed, number};

use crate::sys::{self, Errno};

/// Calls `read`, except under the program's own seccomp filter, which may forbid files.
pub fn if_allowed<T>(read: impl FnOnce() -> Option<T>) -> Option<T> {
    match sys::filter() {
        sys::Filter::Own => None,
        _ => read(),
    }
}

/// Reads the start of a file; empty on failure.
pub fn head<'a>(path: &CStr, buffer: &'a mut [u8]) -> &'a [u8] {
    known_head(path, buffer).unwrap_or_default()
}

/// Like [`head`], but `None` if the file may exist: without a free descriptor, for example.
pub fn known_head<'a>(path: &CStr, buffer: &'a mut [u8]) -> Option<&'a [u8]> {
    match sys::File::open(path, libc::O_RDONLY) {
        Ok(file) => Some(fill(&file, buffer)),
        Err(Errno(libc::ENOENT)) => Some(&[]),
        Err(_) => None,
    }
}

/// Reads a file up to its end or the buffer's.
pub fn fill<'a>(file: &sys::File, buffer: &'a mut [u8]) -> &'a [u8] {
    let mut filled = 0;
    while filled < buffer.len() {
        match file.read(&mut buffer[filled..]) {
            Ok(0) | Err(_) => break,
            Ok(read) => filled += read,
        }
    }
    &buffer[..filled]
}

/// Buffer in bytes. Of a longer line (a mapping with a very long name) only the end is visited.
const LINE: usize = 4608;

/// Calls `visit` with each line until it returns a value.
pub fn each_line<T>(path: &CStr, visit: impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
    each_line_of(&sys::File::open(path, libc::O_RDONLY).ok()?, visit)
}

/// Like [`each_line`], for an open file.
pub fn each_line_of<T>(file: &sys::File, mut visit: impl FnMut(&[u8]) -> Option<T>) -> Option<T> {
    let mut buffer = [0; LINE];
    let mut filled = 0;
    loop {
        let read = file.read(&mut buffer[filled..]).ok().filter(|n| *n > 0)?;
        filled += read;
        let mut done = 0;
        while let Some(len) = buffer[done..filled].iter().position(|byte| *byte == b'\n') {
            if let Some(found) = visit(&buffer[done..done + len]) {
                return Some(found);
            }
            done += len + 1;
        }
        if done == 0 && filled == LINE {
            done = filled;
        }
        buffer.copy_within(done..filled, 0);
        filled -= done;
    }
}

/// Reads a file that holds one number.
pub fn number(path: &CStr) -> Option<u64> {
    let mut buffer = [0; 32];
    number::leading(head(path, &mut buffer))
}

/// Reads the number in the first line with this name; see [`keyed`].
pub fn tagged_in(path: &CStr, name: &[u8]) -> Option<u64> {
    each_line(path, |line| keyed::number_in(line, name))
}
