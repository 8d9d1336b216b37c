//! The destination of messages, if it is not standard error.
//!
//! hugectl opens the file while it has the rights, and every process of the program
//! inherits the descriptor. A process that closed it reopens the file by name.

use core::fmt;

use super::value::parse_number;

/// An inherited descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InheritedFd {
    /// Its number.
    pub number: u32,
    /// Device and inode of the file, since the program may reuse the number for another one. `None`
    /// if the user gave only a number.
    pub file: Option<(u64, u64)>,
}

/// The destination of messages instead of standard error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Messages<'a> {
    /// The inherited descriptor.
    pub inherited: Option<InheritedFd>,
    /// The file to append to if the descriptor is closed.
    pub path: Option<&'a [u8]>,
}

impl<'a> Messages<'a> {
    /// Reads `FILE`, a descriptor number, or `NUMBER:DEVICE:INODE:FILE`, where `FILE` may be empty.
    pub fn read(value: &'a [u8]) -> Option<Messages<'a>> {
        let first = value.first()?;
        if !first.is_ascii_digit() {
            return Some(Messages {
                inherited: None,
                path: Some(value),
            });
        }
        let mut parts = value.splitn(4, |byte| *byte == b':');
        let fd = parse_number(parts.next()?).filter(|fd: &u32| i32::try_from(*fd).is_ok())?;
        let file = match parts.next() {
            Some(device) => Some((parse_number(device)?, parse_number(parts.next()?)?)),
            None => None,
        };
        Some(Messages {
            inherited: Some(InheritedFd { number: fd, file }),
            path: parts.next().filter(|path| !path.is_empty()),
        })
    }
}

impl fmt::Display for InheritedFd {
    /// Writes the number, device and inode, as they precede the file's name.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file {
            None => write!(f, "{}", self.number),
            Some((device, inode)) => write!(f, "{}:{device}:{inode}:", self.number),
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use super::*;
    use std::string::ToString;

    #[test]
    fn a_file_a_number_or_both() {
        let inherited = |number, file| Some(InheritedFd { number, file });
        let read = |value: &'static str| {
            let messages = Messages::read(value.as_bytes())?;
            Some((messages.inherited, messages.path))
        };
        assert_eq!(read("/var/1:2"), Some((None, Some(&b"/var/1:2"[..]))));
        assert_eq!(read("7"), Some((inherited(7, None), None)));
        let both = inherited(500, Some((2049, 77)));
        let path = Some(&b"/a:b"[..]);
        assert_eq!(read("500:2049:77:/a:b"), Some((both, path)));
        assert_eq!(read("500:2049:77:"), Some((both, None)));
        assert_eq!(both.unwrap().to_string(), "500:2049:77:");
        for wrong in ["", "7x", "4294967295", "7:", "7:1", "7:x:1:/a", "7:1:x:/a"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
