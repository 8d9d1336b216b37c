//! A System V segment that is attached temporarily.
#![expect(unsafe_code, reason = "these calls have no wrapper")]

use std::io;

use hugetools_model::{KPath, Root};
use nix::errno::Errno;

/// The segment, detached on drop.
#[derive(Debug)]
pub(super) struct AttachedSegment {
    address: *mut libc::c_void,
}

impl AttachedSegment {
    /// Attaches a segment read-only, without touching its pages.
    pub(super) fn new(id: u64) -> io::Result<AttachedSegment> {
        let id = libc::c_int::try_from(id).map_err(io::Error::other)?;
        // SAFETY: the kernel chooses an unused address range.
        let address = unsafe { libc::shmat(id, std::ptr::null(), libc::SHM_RDONLY) };
        match address.addr() {
            usize::MAX => Err(Errno::last().into()),
            _ => Ok(AttachedSegment { address }),
        }
    }

    /// Returns the `map_files` link of the segment and its mapped length; `None` if it isn't found.
    pub(super) fn map_file(&self, root: &Root) -> Option<(KPath, u64)> {
        let maps = root.read(&KPath::from("/proc/self/maps")).ok()?;
        let maps = String::from_utf8_lossy(&maps).into_owned();
        let begin = format!("{:x}-", self.address.addr());
        let line = maps.lines().find(|line| line.starts_with(&begin))?;
        let range = line.split(' ').next()?;
        let end = range.split('-').nth(1)?;
        let end = usize::from_str_radix(end, 16).ok()?;
        let length = end.checked_sub(self.address.addr())?;
        Some((
            KPath::from("/proc/self/map_files").join(range),
            length as u64,
        ))
    }
}

impl Drop for AttachedSegment {
    fn drop(&mut self) {
        // SAFETY: `address` comes from `shmat`, and nobody has a reference into the segment.
        let _ = unsafe { libc::shmdt(self.address) };
    }
}
