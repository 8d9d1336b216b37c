//! Mappings, and what memory is free.
#![expect(unsafe_code, reason = "takes addresses and lengths")]

use core::ffi::{CStr, c_int, c_long, c_uint};
use core::mem::MaybeUninit;

use super::call::{Errno, Result, ask, call, pass};
use super::seccomp_filter::{Call, Filter, filter};
use crate::sys::cast::extended;

/// `mmap(2)`.
///
/// # Safety
/// With `MAP_FIXED`, what lies at `addr` must be the caller's to replace.
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
        // This machine's takes all of them at one address.
        return call(libc::SYS_mmap, [args.as_ptr() as usize, 0, 0, 0, 0, 0]);
    }
    call(libc::SYS_mmap, args)
}

/// `munmap(2)`.
///
/// # Safety
/// The range must be the caller's to unmap.
pub unsafe fn munmap(addr: usize, len: usize) -> Result<()> {
    call(libc::SYS_munmap, [addr, len, 0, 0, 0, 0]).map(drop)
}

/// `mprotect(2)`.
///
/// # Safety
/// Nobody may rely on accesses to the range that `prot` does not allow.
pub unsafe fn mprotect(addr: usize, len: usize, prot: c_int) -> Result<()> {
    if prot & libc::PROT_EXEC != 0 {
        pass(Call::Mprotect)?;
    }
    call(libc::SYS_mprotect, [addr, len, extended(prot), 0, 0, 0]).map(drop)
}

/// `madvise(2)`.
///
/// # Safety
/// With an advice that drops contents, they must be the caller's to drop.
pub unsafe fn madvise(addr: usize, len: usize, advice: c_int) -> Result<()> {
    pass(Call::Madvise)?;
    call(libc::SYS_madvise, [addr, len, extended(advice), 0, 0, 0]).map(drop)
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
    pass(Call::Mremap)?;
    let args = [addr, old_len, new_len, extended(flags), new_addr, 0];
    call(libc::SYS_mremap, args)
}

/// Gives anonymous memory a name in `/proc/<pid>/maps`; since Linux 5.17, with
/// `CONFIG_ANON_VMA_NAME`.
pub fn name_memory(addr: usize, len: usize, name: &CStr) {
    let args = [
        extended(libc::PR_SET_VMA),
        extended(libc::PR_SET_VMA_ANON_NAME),
        addr,
        len,
        name.as_ptr() as usize,
        0,
    ];
    let _ = ask(libc::SYS_prctl, args);
}

/// Has the kernel write there, as it does with what a call returns: where no memory is, and
/// none can be, that is an error, and no signal. A stack grows as far as that.
///
/// # Errors
/// `EFAULT`.
///
/// # Safety
/// Eight bytes there must be nobody's.
pub unsafe fn written_by_kernel(addr: usize) -> Result<()> {
    const WORD: usize = 8;
    // Without a new set it only tells the one of now.
    call(libc::SYS_rt_sigprocmask, [0, 0, addr, WORD, 0, 0]).map(drop)
}

/// Whether the kernel can read where a range begins and where it ends, so that who reads
/// there gets no signal. Of a program that filters its own calls it is not asked, and holds.
pub fn is_readable(range: &core::ops::Range<usize>) -> bool {
    filter() == Filter::Own || can_be_read(range, is_there)
}

fn can_be_read(range: &core::ops::Range<usize>, is_there: fn(usize) -> bool) -> bool {
    let (first, last) = (range.start, range.end.saturating_sub(1).max(range.start));
    let is_one = first / WORD == last / WORD;
    is_there(first) && (is_one || is_there(last))
}

/// What is asked about at once.
const WORD: usize = 8;

fn is_there(at: usize) -> bool {
    const NO_SUCH_WAY: c_int = -1;
    let args = [extended(NO_SUCH_WAY), at & !(WORD - 1), 0, WORD, 0, 0];
    call(libc::SYS_rt_sigprocmask, args) != Err(Errno(libc::EFAULT))
}

/// `mlock(2)`
pub fn mlock(addr: usize, len: usize) -> Result<()> {
    call(libc::SYS_mlock, [addr, len, 0, 0, 0, 0]).map(drop)
}

/// `mlock2(2)`; since Linux 4.4.
pub fn mlock2(addr: usize, len: usize, flags: c_uint) -> Result<()> {
    call(libc::SYS_mlock2, [addr, len, flags as usize, 0, 0, 0]).map(drop)
}

/// `munlock(2)`
pub fn munlock(addr: usize, len: usize) -> Result<()> {
    call(libc::SYS_munlock, [addr, len, 0, 0, 0, 0]).map(drop)
}

/// `mlockall(2)`
pub fn mlockall(flags: c_int) -> Result<()> {
    call(libc::SYS_mlockall, [extended(flags), 0, 0, 0, 0, 0]).map(drop)
}

/// `munlockall(2)`
pub fn munlockall() -> Result<()> {
    call(libc::SYS_munlockall, [0; 6]).map(drop)
}

/// The number of `pkey_mprotect(2)`, which the libc crate lacks for two machines.
#[cfg(not(any(target_arch = "powerpc64", target_arch = "s390x")))]
const PKEY_MPROTECT: c_long = libc::SYS_pkey_mprotect;
/// See above.
#[cfg(target_arch = "powerpc64")]
const PKEY_MPROTECT: c_long = 386;
/// See above.
#[cfg(target_arch = "s390x")]
const PKEY_MPROTECT: c_long = 384;

/// `pkey_mprotect(2)`, for which `-1` is no key.
///
/// # Safety
/// As for [`mprotect`].
pub unsafe fn pkey_mprotect(addr: usize, len: usize, prot: c_int, key: c_int) -> Result<()> {
    let args = [addr, len, extended(prot), extended(key), 0, 0];
    call(PKEY_MPROTECT, args).map(drop)
}

/// Whether the kernel knows an advice for `madvise(2)`.
pub fn knows_advice(advice: c_int) -> bool {
    let anywhere = super::process::page_size();
    let may_ask = pass(Call::Madvise).is_ok();
    may_ask && call(libc::SYS_madvise, [anywhere, 0, extended(advice), 0, 0, 0]).is_ok()
}

/// Memory that nothing is in, in bytes, by `sysinfo(2)`: it counts no cache, and
/// knows no control group.
pub fn free_memory() -> Option<usize> {
    let mut told = MaybeUninit::<libc::sysinfo>::zeroed();
    ask(
        libc::SYS_sysinfo,
        [told.as_mut_ptr() as usize, 0, 0, 0, 0, 0],
    )
    .ok()?;
    // SAFETY: all bits zero are such a table, and the kernel has filled it.
    let told = unsafe { told.assume_init() };
    let unit = usize::try_from(told.mem_unit).ok()?;
    usize::try_from(told.freeram).ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::{Errno, set_errno};

    #[test]
    fn a_failed_call_leaves_errno_alone() {
        set_errno(Errno(libc::EXDEV));
        // SAFETY: an odd address is refused before anything is unmapped.
        let result = unsafe { munmap(1, 1) };
        assert_eq!(result, Err(Errno(libc::EINVAL)));
        assert_eq!(
            std::io::Error::last_os_error().raw_os_error(),
            Some(libc::EXDEV)
        );
    }

    #[test]
    fn some_memory_is_free() {
        assert!(free_memory().is_some_and(|free| free > 0));
    }
}
