//! System V shared memory.
#![expect(unsafe_code, reason = "takes addresses")]

use core::ffi::{c_int, c_long};

use super::call::{Result, call};
use crate::bits::{extended, int};

/// `shmget(2)`.
pub fn shmget(key: c_int, size: usize, flags: c_int) -> Result<c_int> {
    call(SYS_SHMGET, [extended(key), size, extended(flags), 0, 0, 0]).map(int)
}

/// `shmat(2)`; at 0, anywhere.
pub fn shmat(id: c_int, addr: usize, flags: c_int) -> Result<usize> {
    call(SYS_SHMAT, [extended(id), addr, extended(flags), 0, 0, 0])
}

/// The size of a System V segment in bytes.
pub fn shm_size(id: c_int) -> Option<usize> {
    let mut state = core::mem::MaybeUninit::<libc::shmid_ds>::zeroed();
    let at = state.as_mut_ptr() as usize;
    call(
        SYS_SHMCTL,
        [extended(id), extended(libc::IPC_STAT), at, 0, 0, 0],
    )
    .ok()?;
    // SAFETY: all bits zero are a valid state, and the kernel has filled it.
    Some(unsafe { state.assume_init() }.shm_segsz)
}

/// `shmdt(2)`.
///
/// # Safety
/// The segment must be attached there by the caller.
pub unsafe fn shmdt(addr: usize) -> Result<()> {
    call(SYS_SHMDT, [addr, 0, 0, 0, 0, 0]).map(drop)
}

/// `shmctl(id, IPC_RMID)`.
pub fn shm_remove(id: c_int) -> Result<()> {
    let args = [extended(id), extended(libc::IPC_RMID), 0, 0, 0, 0];
    call(SYS_SHMCTL, args).map(drop)
}

// Since Linux 5.1 every architecture has these calls of their own; before,
// powerpc64 and s390x had `ipc(2)` only, and fail here with ENOSYS.
#[cfg(any(target_arch = "powerpc64", target_arch = "s390x"))]
const SYS_SHMGET: c_long = 395;
#[cfg(any(target_arch = "powerpc64", target_arch = "s390x"))]
const SYS_SHMCTL: c_long = 396;
#[cfg(any(target_arch = "powerpc64", target_arch = "s390x"))]
const SYS_SHMAT: c_long = 397;
#[cfg(any(target_arch = "powerpc64", target_arch = "s390x"))]
const SYS_SHMDT: c_long = 398;
#[cfg(not(any(target_arch = "powerpc64", target_arch = "s390x")))]
const SYS_SHMGET: c_long = libc::SYS_shmget;
#[cfg(not(any(target_arch = "powerpc64", target_arch = "s390x")))]
const SYS_SHMCTL: c_long = libc::SYS_shmctl;
#[cfg(not(any(target_arch = "powerpc64", target_arch = "s390x")))]
const SYS_SHMAT: c_long = libc::SYS_shmat;
#[cfg(not(any(target_arch = "powerpc64", target_arch = "s390x")))]
const SYS_SHMDT: c_long = libc::SYS_shmdt;
