//! System V shared memory.
#![expect(unsafe_code, reason = "takes addresses")]

use core::ffi::c_int;

use super::call::{Result, call, filled};
use crate::sys::cast::{extended, int};

/// `shmget(2)`.
pub fn shmget(key: c_int, size: usize, flags: c_int) -> Result<c_int> {
    call(SYS_SHMGET, [extended(key), size, extended(flags)]).map(int)
}

/// `shmat(2)`; address 0 means anywhere.
pub fn shmat(id: c_int, addr: usize, flags: c_int) -> Result<usize> {
    call(SYS_SHMAT, [extended(id), addr, extended(flags)])
}

/// State of a System V segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShmState {
    /// Requested size in bytes.
    pub size: usize,
    /// Number of attaches in all processes.
    pub attached: usize,
}

/// `shmctl(id, IPC_STAT)`; `EINVAL` or `EIDRM` if the segment is gone, `EACCES` without the right.
pub fn shm_state(id: c_int) -> Result<ShmState> {
    let get = |at| call(SYS_SHMCTL, [extended(id), extended(libc::IPC_STAT), at]);
    // SAFETY: all bits zero are a valid state.
    let state = unsafe { filled::<libc::shmid_ds>(get)? };
    Ok(ShmState {
        size: state.shm_segsz,
        attached: usize::try_from(state.shm_nattch).unwrap_or(usize::MAX),
    })
}

/// `shmdt(2)`.
///
/// # Safety
/// The caller must have attached the segment there.
pub unsafe fn shmdt(addr: usize) -> Result<()> {
    call(SYS_SHMDT, [addr]).map(drop)
}

/// `shmctl(id, IPC_RMID)`.
pub fn shm_remove(id: c_int) -> Result<()> {
    let args = [extended(id), extended(libc::IPC_RMID)];
    call(SYS_SHMCTL, args).map(drop)
}

/// Call numbers. Before Linux 5.1 powerpc64 and s390x have `ipc(2)` only: ENOSYS.
#[cfg(any(target_arch = "powerpc64", target_arch = "s390x"))]
mod numbers {
    use core::ffi::c_long;

    pub(super) const SYS_SHMGET: c_long = 395;
    pub(super) const SYS_SHMCTL: c_long = 396;
    pub(super) const SYS_SHMAT: c_long = 397;
    pub(super) const SYS_SHMDT: c_long = 398;
}

#[cfg(not(any(target_arch = "powerpc64", target_arch = "s390x")))]
mod numbers {
    pub(super) use libc::{
        SYS_shmat as SYS_SHMAT, SYS_shmctl as SYS_SHMCTL, SYS_shmdt as SYS_SHMDT,
        SYS_shmget as SYS_SHMGET,
    };
}

use numbers::{SYS_SHMAT, SYS_SHMCTL, SYS_SHMDT, SYS_SHMGET};
