//! Errors of kernel files, in one line: operation, path, value and cause.

use std::fmt;
use std::io;

use nix::errno::Errno;

use crate::root::kpath::KPath;

/// The operation that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    /// A file was read.
    Read,
    /// A directory was listed.
    List,
    /// A value was written.
    Write,
}

/// Why an operation failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cause {
    /// The kernel returned this errno.
    Errno(i32),
    /// The contents are invalid, or the error has no errno.
    Content(String),
}

/// A failed operation on a kernel file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileError {
    /// The failed operation.
    pub op: Op,
    /// The kernel's path, without the directory of `--sysroot`.
    pub path: KPath,
    /// The value of an [`Op::Write`].
    pub value: Option<String>,
    /// Why it failed.
    pub cause: Cause,
}

impl FileError {
    /// Returns an error of the operating system.
    pub fn io(op: Op, path: &KPath, error: &io::Error) -> FileError {
        let cause = match error.raw_os_error() {
            Some(errno) => Cause::Errno(errno),
            None => Cause::Content(error.to_string()),
        };
        FileError {
            op,
            path: path.clone(),
            value: None,
            cause,
        }
    }

    /// Returns an error for invalid contents.
    pub fn content(path: &KPath, what: impl Into<String>) -> FileError {
        FileError {
            op: Op::Read,
            path: path.clone(),
            value: None,
            cause: Cause::Content(what.into()),
        }
    }

    /// Returns the errno, if the kernel returned one.
    pub fn errno(&self) -> Option<i32> {
        match self.cause {
            Cause::Errno(errno) => Some(errno),
            Cause::Content(_) => None,
        }
    }
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.op, &self.value) {
            (Op::Read, _) => write!(f, "cannot read {}", self.path)?,
            (Op::List, _) => write!(f, "cannot list {}", self.path)?,
            (Op::Write, Some(value)) => write!(f, "cannot write {value} to {}", self.path)?,
            (Op::Write, None) => write!(f, "cannot write {}", self.path)?,
        }
        match &self.cause {
            Cause::Errno(errno) => write!(f, ": {}", describe_errno(*errno)),
            Cause::Content(what) => write!(f, ": {what}"),
        }
    }
}

impl std::error::Error for FileError {}

/// Describes an error as [`describe_errno`] does, or by its text if it has no errno.
pub fn describe(error: &io::Error) -> String {
    let errno = error.raw_os_error();
    errno.map_or_else(|| error.to_string(), describe_errno)
}

/// Returns text and name of an errno, such as `invalid argument (EINVAL)`.
pub fn describe_errno(errno: i32) -> String {
    let text = io::Error::from_raw_os_error(errno).to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    let lower = match chars.next() {
        Some(first) => first.to_lowercase().chain(chars).collect(),
        None => String::new(),
    };
    match Errno::from_raw(errno) {
        Errno::UnknownErrno => format!("{lower} (errno {errno})"),
        name => format!("{lower} ({name:?})"),
    }
}
