//! Paths on the stack.

use core::ffi::CStr;
use core::fmt::{self, Write};

use hugetools_kernfs::escape;

/// A formatted path on the stack.
#[derive(Debug)]
pub struct Path {
    bytes: [u8; Path::ROOM],
    len: usize,
}

impl Path {
    const ROOM: usize = 1024;

    const EMPTY: Path = Path {
        bytes: [0; Path::ROOM],
        len: 0,
    };

    /// Formats a path; `None` if it is too long.
    pub fn of(pieces: fmt::Arguments<'_>) -> Option<Path> {
        let mut path = Path::EMPTY;
        path.write_fmt(pieces).ok()?;
        Some(path)
    }

    /// Copies a path; `None` if it is too long.
    pub fn of_bytes(bytes: &[u8]) -> Option<Path> {
        let mut path = Path::EMPTY;
        path.add(bytes).ok()?;
        Some(path)
    }

    /// Decodes a path of a mount table; `None` if it is too long.
    pub fn of_escaped(word: &[u8]) -> Option<Path> {
        let mut path = Path::EMPTY;
        let mut fits = Ok(());
        escape::decode(word, |byte| fits = fits.and(path.add(&[byte])));
        fits.ok()?;
        Some(path)
    }

    fn add(&mut self, bytes: &[u8]) -> fmt::Result {
        let end = self.len + bytes.len();
        // The last byte stays zero.
        if end >= Path::ROOM {
            return Err(fmt::Error);
        }
        self.bytes[self.len..end].copy_from_slice(bytes);
        self.len = end;
        Ok(())
    }

    /// The path for a system call; empty if it contains a zero byte.
    pub fn c_str(&self) -> &CStr {
        CStr::from_bytes_with_nul(&self.bytes[..=self.len]).unwrap_or(c"")
    }
}

impl Write for Path {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_pieces() {
        let path = Path::of(format_args!("/a/{}kB", 2048)).unwrap();
        assert_eq!(path.c_str(), c"/a/2048kB");
        assert!(Path::of(format_args!("{}", "x".repeat(1024))).is_none());
        assert_eq!(Path::of_bytes(b"/\xff").unwrap().c_str(), c"/\xff");
        assert!(Path::of_bytes(&[b'x'; 1024]).is_none());
        assert_eq!(Path::of_escaped(b"/a\\040b").unwrap().c_str(), c"/a b");
        assert!(Path::of_escaped(&[b'x'; 1024]).is_none());
        assert_eq!(Path::of(format_args!("a\0b")).unwrap().c_str(), c"");
    }
}
