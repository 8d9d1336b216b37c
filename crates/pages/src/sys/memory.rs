//! Memory calls.
#![expect(unsafe_code, reason = "takes addresses and lengths")]

use core::ffi::{CStr, c_int, c_long, c_uint};

use super::call::{Errno, Result, call, check_filter, filled, unfiltered_call};
use super::seccomp_filter::Call;
use crate::sys::cast::extended;

/// `mmap(2)`.
///
/// # Safety
/// With `MAP_FIXED`, the range must be the caller's to replace.
pub unsafe fn mmap(
    addr: usize,
    len: usize,
    prot: c_int,
    flags: c_int,
    fd: c_int,
    offset: usize,
) -> Result<usize> {
    let args = [
        addr,
        len,
        extended(prot),
        extended(flags),
        extended(fd),
        offset,
    ];
    if cfg!(target_arch = "s390x") {
        // On s390x the call takes the address of its arguments.
        return call(libc::SYS_mmap, [args.as_ptr() as usize]);
    }
    call(libc::SYS_mmap, args)
}

/// Maps new memory: private, writable, zero.
pub fn map_new(len: usize) -> Result<usize> {
    let (prot, flags) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a new mapping replaces nothing.
    unsafe { mmap(0, len, prot, flags, -1, 0) }
}

/// `munmap(2)`.
///
/// # Safety
/// The range must be the caller's to unmap.
pub unsafe fn munmap(addr: usize, len: usize) -> Result<()> {
    call(libc::SYS_munmap, [addr, len]).map(drop)
}

/// `mprotect(2)`.
///
/// # Safety
/// Nobody may rely on accesses that `prot` forbids.
pub unsafe fn mprotect(addr: usize, len: usize, prot: c_int) -> Result<()> {
    // Filters reject only executable ranges.
    if prot & libc::PROT_EXEC != 0 {
        check_filter(Call::Mprotect)?;
    }
    call(libc::SYS_mprotect, [addr, len, extended(prot)]).map(drop)
}

/// `madvise(2)`.
///
/// # Safety
/// If the advice drops contents, they must be the caller's to drop.
pub unsafe fn madvise(addr: usize, len: usize, advice: c_int) -> Result<()> {
    check_filter(Call::Madvise)?;
    call(libc::SYS_madvise, [addr, len, extended(advice)]).map(drop)
}

/// `mremap(2)`.
///
/// # Safety
/// Both ranges must be the caller's to move or replace.
pub unsafe fn mremap(
    addr: usize,
    old_len: usize,
    new_len: usize,
    flags: c_int,
    new_addr: usize,
) -> Result<usize> {
    check_filter(Call::Mremap)?;
    let args = [addr, old_len, new_len, extended(flags), new_addr];
    call(libc::SYS_mremap, args)
}

/// Sets bit 0 of byte i if base page i of the range is in memory (`mincore(2)`).
///
/// # Errors
/// `EINVAL` if there are fewer bytes than pages; `ENOMEM` if part of the range is unmapped.
pub fn mincore(addr: usize, len: usize, pages: &mut [u8]) -> Result<()> {
    if pages.len() < len.div_ceil(super::process::page_size()) {
        return Err(Errno(libc::EINVAL));
    }
    let pages = pages.as_mut_ptr() as usize;
    unfiltered_call(libc::SYS_mincore, [addr, len, pages]).map(drop)
}

/// Names anonymous memory in `/proc/PID/maps` (Linux 5.17 with `CONFIG_ANON_VMA_NAME`).
pub fn name_memory(addr: usize, len: usize, name: &CStr) {
    let args = [
        extended(libc::PR_SET_VMA),
        extended(libc::PR_SET_VMA_ANON_NAME),
        addr,
        len,
        name.as_ptr() as usize,
    ];
    let _ = unfiltered_call(libc::SYS_prctl, args);
}

/// Makes the kernel write eight bytes, which grows a stack. A page that can't be populated is an
/// error, not a signal.
///
/// # Safety
/// Nobody else may use these eight bytes.
pub unsafe fn probe_write(addr: usize) -> Result<()> {
    const WORD: usize = 8;
    // Without a new mask the call only stores the current one.
    call(libc::SYS_rt_sigprocmask, [0, 0, addr, WORD]).map(drop)
}

/// `mlock(2)`
pub fn mlock(addr: usize, len: usize) -> Result<()> {
    call(libc::SYS_mlock, [addr, len]).map(drop)
}

/// `mlock2(2)`; since Linux 4.4.
pub fn mlock2(addr: usize, len: usize, flags: c_uint) -> Result<()> {
    call(libc::SYS_mlock2, [addr, len, flags as usize]).map(drop)
}

/// `munlock(2)`
pub fn munlock(addr: usize, len: usize) -> Result<()> {
    call(libc::SYS_munlock, [addr, len]).map(drop)
}

/// `mlockall(2)`
pub fn mlockall(flags: c_int) -> Result<()> {
    call(libc::SYS_mlockall, [extended(flags)]).map(drop)
}

/// `munlockall(2)`
pub fn munlockall() -> Result<()> {
    call(libc::SYS_munlockall, []).map(drop)
}

/// `pkey_mprotect(2)`, which the libc crate lacks for two machines.
#[cfg(not(any(target_arch = "powerpc64", target_arch = "s390x")))]
const PKEY_MPROTECT: c_long = libc::SYS_pkey_mprotect;
#[cfg(target_arch = "powerpc64")]
const PKEY_MPROTECT: c_long = 386;
#[cfg(target_arch = "s390x")]
const PKEY_MPROTECT: c_long = 384;

/// `pkey_mprotect(2)`; key `-1` means none.
///
/// # Safety
/// As for [`mprotect`].
pub unsafe fn pkey_mprotect(addr: usize, len: usize, prot: c_int, key: c_int) -> Result<()> {
    let args = [addr, len, extended(prot), extended(key)];
    call(PKEY_MPROTECT, args).map(drop)
}

/// Whether the kernel supports a `madvise(2)` advice.
pub fn supports_advice(advice: c_int) -> bool {
    let anywhere = super::process::page_size();
    let is_allowed = check_filter(Call::Madvise).is_ok();
    is_allowed && call(libc::SYS_madvise, [anywhere, 0, extended(advice)]).is_ok()
}

/// Free memory in bytes (`sysinfo(2)`), without the page cache and regardless of control groups.
pub fn free_memory() -> Option<usize> {
    // SAFETY: all bits zero are a valid `sysinfo`.
    let info =
        unsafe { filled::<libc::sysinfo>(|info| unfiltered_call(libc::SYS_sysinfo, [info])) };
    let info = info.ok()?;
    let unit = usize::try_from(info.mem_unit).ok()?;
    usize::try_from(info.freeram).ok()?.checked_mul(unit)
}
