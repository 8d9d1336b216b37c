//! System V shared memory.
#![expect(unsafe_code, reason = "takes addresses")]

use core::ffi::c_int;

use super::call::{Result, call};
use crate::sys::cast::{extended, int, signed, unsigned};

/// `shmget(2)`.
pub fn shmget(key: c_int, size: usize, flags: c_int) -> Result<c_int> {
    call(SYS_SHMGET, [extended(key), size, extended(flags), 0, 0, 0]).map(int)
}

/// `shmat(2)`; at 0, anywhere.
pub fn shmat(id: c_int, addr: usize, flags: c_int) -> Result<usize> {
    call(SYS_SHMAT, [extended(id), addr, extended(flags), 0, 0, 0])
}

/// What the kernel says of a System V segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShmState {
    /// Its size in bytes, as it was asked for.
    pub size: usize,
    /// How many mappings it has, of all processes.
    pub attached: usize,
    /// Whether it goes with the last of them.
    pub is_removed: bool,
    /// Who may do what with it.
    pub mode: c_int,
    /// The process that has made it.
    pub creator: u32,
    /// Whose it is.
    pub owner: (u32, u32),
}

/// `shmctl(id, IPC_STAT)`.
///
/// # Errors
/// `EINVAL`, `EIDRM`: there is no such segment any more; `EACCES`.
pub fn shm_state(id: c_int) -> Result<ShmState> {
    const SHM_DEST: u32 = 0o1000;
    let state = shm_stat(id)?;
    let mode = u32::from(state.shm_perm.mode);
    Ok(ShmState {
        size: state.shm_segsz,
        attached: usize::try_from(state.shm_nattch).unwrap_or(usize::MAX),
        is_removed: mode & SHM_DEST != 0,
        creator: unsigned(state.shm_cpid),
        mode: signed(mode & 0o777),
        owner: (state.shm_perm.uid, state.shm_perm.gid),
    })
}

fn shm_stat(id: c_int) -> Result<libc::shmid_ds> {
    let mut state = core::mem::MaybeUninit::<libc::shmid_ds>::zeroed();
    shm_control(id, libc::IPC_STAT, state.as_mut_ptr() as usize)?;
    // SAFETY: all bits zero are a valid state, and the kernel has filled it.
    Ok(unsafe { state.assume_init() })
}

/// `shmctl(2)`
pub fn shm_control(id: c_int, command: c_int, at: usize) -> Result<usize> {
    call(SYS_SHMCTL, [extended(id), extended(command), at, 0, 0, 0])
}

/// Gives a segment the owner and the mode of another one.
///
/// # Errors
/// `EPERM` where this user may not.
pub fn shm_give_to(id: c_int, other: &ShmState) -> Result<()> {
    let mut state = shm_stat(id)?;
    (state.shm_perm.uid, state.shm_perm.gid) = other.owner;
    shm_control(id, libc::IPC_SET, (&raw mut state) as usize).map(drop)
}

/// Whether less than one in `share` of the numbers for segments is in use; no
/// where it cannot be told.
pub fn has_shm_ids(share: usize) -> bool {
    const SHM_INFO: c_int = 14;
    // Both longer than what the kernel writes: numbers of segments that may be,
    // and that are.
    let (mut limits, mut used) = ([0usize; 16], [0usize; 16]);
    let told = shm_control(0, libc::IPC_INFO, limits.as_mut_ptr() as usize)
        .and_then(|_| shm_control(0, SHM_INFO, used.as_mut_ptr() as usize));
    // The third long of `shminfo`, the first int of `shm_info`.
    let used = used.first().map_or([0; 4], |word| {
        let [a, b, c, d, ..] = word.to_ne_bytes();
        [a, b, c, d]
    });
    told.is_ok() && (u32::from_ne_bytes(used) as usize) < limits[2] / share
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

/// The numbers of these calls. Since Linux 5.1 every architecture has them;
/// before, powerpc64 and s390x had `ipc(2)` only, and fail here with ENOSYS.
#[cfg(any(target_arch = "powerpc64", target_arch = "s390x"))]
mod numbers {
    use core::ffi::c_long;

    /// `shmget(2)`
    pub const SYS_SHMGET: c_long = 395;
    /// `shmctl(2)`
    pub const SYS_SHMCTL: c_long = 396;
    /// `shmat(2)`
    pub const SYS_SHMAT: c_long = 397;
    /// `shmdt(2)`
    pub const SYS_SHMDT: c_long = 398;
}

#[cfg(not(any(target_arch = "powerpc64", target_arch = "s390x")))]
mod numbers {
    pub use libc::{
        SYS_shmat as SYS_SHMAT, SYS_shmctl as SYS_SHMCTL, SYS_shmdt as SYS_SHMDT,
        SYS_shmget as SYS_SHMGET,
    };
}

pub use numbers::{SYS_SHMAT, SYS_SHMCTL, SYS_SHMDT, SYS_SHMGET};
