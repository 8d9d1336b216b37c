//! Resource limits (`getrlimit(2)`).
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use super::call::{Result, file_call, filled};

/// A limit in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpaceLimit {
    /// No limit.
    None,
    /// Bytes.
    Bytes(usize),
    /// Unknown.
    Unknown,
}

/// `RLIMIT_AS`.
pub fn address_space_limit() -> SpaceLimit {
    limit_in_bytes(libc::RLIMIT_AS as usize)
}

/// `RLIMIT_DATA`: private writable mappings, since Linux 4.7.
pub fn data_limit() -> SpaceLimit {
    limit_in_bytes(libc::RLIMIT_DATA as usize)
}

/// Whether `RLIMIT_FSIZE` allows this file size; beyond it the kernel raises SIGXFSZ. `false` if
/// unknown.
pub(super) fn allows_file_size(len: usize) -> bool {
    match limit_in_bytes(libc::RLIMIT_FSIZE as usize) {
        SpaceLimit::None => true,
        SpaceLimit::Bytes(limit) => len <= limit,
        SpaceLimit::Unknown => false,
    }
}

fn limit_in_bytes(resource: usize) -> SpaceLimit {
    let Ok(limit) = limit_of(resource) else {
        return SpaceLimit::Unknown;
    };
    match usize::try_from(limit.rlim_cur) {
        Ok(bytes) if limit.rlim_cur != libc::RLIM64_INFINITY => SpaceLimit::Bytes(bytes),
        _ => SpaceLimit::None,
    }
}

/// `RLIMIT_STACK` in bytes; `usize::MAX` without a limit.
pub fn stack_limit() -> Result<usize> {
    let limit = limit_of(libc::RLIMIT_STACK as usize)?.rlim_cur;
    Ok(usize::try_from(limit).unwrap_or(usize::MAX))
}

fn limit_of(resource: usize) -> Result<libc::rlimit64> {
    // SAFETY: all bits zero are a valid limit.
    unsafe { filled(|limit| file_call(libc::SYS_prlimit64, [0, resource, 0, limit])) }
}
