//! System calls. Each keeps the thread's `errno` as it was: the caller gets
//! the error as a value, and the program we run in never sees it.
#![expect(unsafe_code, reason = "system calls take addresses and lengths")]

use core::ffi::{CStr, c_int, c_long};

use libc::c_void;

use crate::bits::{extended, int, unsigned, word};

/// An errno value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Errno(pub c_int);

/// What a system call gives.
pub type Result<T> = core::result::Result<T, Errno>;

/// Runs a system call and keeps `errno`.
fn call(number: c_long, args: [usize; 6]) -> Result<usize> {
    let [a, b, c, d, e, f] = args;
    let errno = errno_at();
    // SAFETY: this thread's errno, which lives as long as the thread.
    let before = unsafe { errno.read() };
    // SAFETY: each wrapper below passes what its system call takes; the caller
    // of a wrapper vouches for the memory that it names.
    let result = unsafe { libc::syscall(number, a, b, c, d, e, f) };
    if result == -1 {
        // SAFETY: as above.
        let error = unsafe { errno.replace(before) };
        return Err(Errno(error));
    }
    Ok(word(result))
}

/// Where this thread's `errno` is.
fn errno_at() -> *mut c_int {
    // SAFETY: takes nothing.
    unsafe { libc::__errno_location() }
}

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
    call(
        libc::SYS_mmap,
        [
            addr,
            len,
            extended(prot),
            extended(flags),
            extended(fd),
            offset,
        ],
    )
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
    call(libc::SYS_mprotect, [addr, len, extended(prot), 0, 0, 0]).map(drop)
}

/// `madvise(2)`.
///
/// # Safety
/// With an advice that drops contents, they must be the caller's to drop.
pub unsafe fn madvise(addr: usize, len: usize, advice: c_int) -> Result<()> {
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
    let args = [addr, old_len, new_len, extended(flags), new_addr, 0];
    call(libc::SYS_mremap, args)
}

/// `mbind(2)`.
///
/// # Safety
/// `mask` must name `maxnode` bits of readable memory, or be 0.
pub unsafe fn mbind(
    addr: usize,
    len: usize,
    mode: usize,
    mask: usize,
    maxnode: usize,
    flags: usize,
) -> Result<()> {
    call(libc::SYS_mbind, [addr, len, mode, mask, maxnode, flags]).map(drop)
}

/// The mode of the thread's memory policy, by `get_mempolicy(2)`.
pub fn policy_mode() -> Result<c_int> {
    let mut mode: c_int = 0;
    let args = [(&raw mut mode) as usize, 0, 0, 0, 0, 0];
    call(libc::SYS_get_mempolicy, args).map(|_| mode)
}

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

/// An open file, closed when dropped, never inherited across `exec`.
#[derive(Debug)]
pub struct File(c_int);

impl File {
    /// Opens a file.
    pub fn open(path: &CStr, flags: c_int) -> Result<File> {
        File::open_mode(path, flags, 0)
    }

    /// Opens a file, creating it with `mode` where `flags` say so.
    pub fn open_mode(path: &CStr, flags: c_int, mode: usize) -> Result<File> {
        let args = [
            extended(libc::AT_FDCWD),
            path.as_ptr() as usize,
            extended(flags | libc::O_CLOEXEC),
            mode,
            0,
            0,
        ];
        call(libc::SYS_openat, args).map(|fd| File(int(fd)))
    }

    /// Reads once into a buffer; how much.
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        let args = [
            extended(self.0),
            buffer.as_mut_ptr() as usize,
            buffer.len(),
            0,
            0,
            0,
        ];
        call(libc::SYS_read, args)
    }

    /// Reads one byte to an address that need not be mapped: a page that
    /// cannot be had is an error here, where a store would be a signal.
    ///
    /// # Safety
    /// The byte must be the caller's to overwrite.
    pub unsafe fn read_byte_to(&self, addr: usize) -> Result<usize> {
        call(libc::SYS_read, [extended(self.0), addr, 1, 0, 0, 0])
    }

    /// Writes a buffer with one call.
    pub fn write(&self, buffer: &[u8]) -> Result<usize> {
        write(self.0, buffer)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = call(libc::SYS_close, [extended(self.0), 0, 0, 0, 0, 0]);
    }
}

/// `write(2)` to a descriptor that is not ours.
pub fn write(fd: c_int, buffer: &[u8]) -> Result<usize> {
    let args = [
        extended(fd),
        buffer.as_ptr() as usize,
        buffer.len(),
        0,
        0,
        0,
    ];
    call(libc::SYS_write, args)
}

/// `readlink(2)`; how long the name is.
pub fn read_link(path: &CStr, buffer: &mut [u8]) -> Result<usize> {
    let args = [
        extended(libc::AT_FDCWD),
        path.as_ptr() as usize,
        buffer.as_mut_ptr() as usize,
        buffer.len(),
        0,
        0,
    ];
    call(libc::SYS_readlinkat, args)
}

/// What tells one open file from another: device and inode.
pub fn identity(fd: c_int) -> Option<(u64, u64)> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    let args = [extended(fd), stat.as_mut_ptr() as usize, 0, 0, 0, 0];
    call(libc::SYS_fstat, args).ok()?;
    // SAFETY: all bits zero are a valid stat, and the kernel has filled it.
    let stat = unsafe { stat.assume_init() };
    Some((stat.st_dev, stat.st_ino))
}

/// The number of links of a file, which for `/proc/self/task` is two more
/// than there are threads.
pub fn links(path: &CStr) -> Option<libc::nlink_t> {
    stat(path).map(|stat| stat.st_nlink)
}

/// The inode of a file.
pub fn inode(path: &CStr) -> Option<u64> {
    stat(path).map(|stat| stat.st_ino)
}

fn stat(path: &CStr) -> Option<libc::stat> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    let args = [
        extended(libc::AT_FDCWD),
        path.as_ptr() as usize,
        stat.as_mut_ptr() as usize,
        0,
        0,
        0,
    ];
    call(libc::SYS_newfstatat, args).ok()?;
    // SAFETY: all bits zero are a valid stat, and the kernel has filled it.
    Some(unsafe { stat.assume_init() })
}

/// `getpid(2)`.
pub fn getpid() -> u32 {
    call(libc::SYS_getpid, [0; 6]).map_or(0, |pid| unsigned(int(pid)))
}

/// `getegid(2)`.
pub fn getegid() -> u32 {
    call(libc::SYS_getegid, [0; 6]).map_or(0, |gid| unsigned(int(gid)))
}

/// `sched_yield(2)`.
pub fn yield_now() {
    let _ = call(libc::SYS_sched_yield, [0; 6]);
}

/// Milliseconds of a clock that only goes forward.
pub fn now() -> u64 {
    let mut time = core::mem::MaybeUninit::<libc::timespec>::zeroed();
    let clock = extended(libc::CLOCK_MONOTONIC);
    let _ = call(
        libc::SYS_clock_gettime,
        [clock, time.as_mut_ptr() as usize, 0, 0, 0, 0],
    );
    // SAFETY: all bits zero are a valid time, and the kernel may have filled it.
    let time = unsafe { time.assume_init() };
    let part = |value: i64| u64::try_from(value).unwrap_or(0);
    part(time.tv_sec) * 1000 + part(time.tv_nsec) / 1_000_000
}

/// Whether `prctl(PR_SET_THP_DISABLE)` is in force.
pub fn thp_disabled() -> bool {
    let args = [extended(libc::PR_GET_THP_DISABLE), 0, 0, 0, 0, 0];
    call(libc::SYS_prctl, args).is_ok_and(|state| state == 1)
}

/// Names anonymous memory for `/proc/<pid>/maps`. Kernels without
/// `CONFIG_ANON_VMA_NAME` (Linux 5.17) refuse, which matters to nobody.
pub fn name_memory(addr: usize, len: usize, name: &CStr) {
    const PR_SET_VMA: c_int = 0x5356_4d41;
    const PR_SET_VMA_ANON_NAME: usize = 0;
    let args = [
        extended(PR_SET_VMA),
        PR_SET_VMA_ANON_NAME,
        addr,
        len,
        name.as_ptr() as usize,
        0,
    ];
    let _ = call(libc::SYS_prctl, args);
}

/// Waits while `word` holds `value`, at most until it is woken.
pub fn futex_wait(word_at: &core::sync::atomic::AtomicU32, value: u32) {
    let args = [
        word_at.as_ptr() as usize,
        extended(libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG),
        value as usize,
        0,
        0,
        0,
    ];
    let _ = call(libc::SYS_futex, args);
}

/// Wakes all who wait on `word`.
pub fn futex_wake(word_at: &core::sync::atomic::AtomicU32) {
    let args = [
        word_at.as_ptr() as usize,
        extended(libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG),
        c_int::MAX as usize,
        0,
        0,
        0,
    ];
    let _ = call(libc::SYS_futex, args);
}

/// The base page size, from the auxiliary vector.
pub fn page_size() -> usize {
    match auxv(libc::AT_PAGESZ) {
        0 => 4096,
        size => size,
    }
}

/// Whether the process is set-user-id or the like and must not trust its
/// environment.
pub fn is_secure() -> bool {
    auxv(libc::AT_SECURE) != 0
}

/// Sixteen random bytes that the kernel gave this process, as a number.
pub fn random() -> u64 {
    let at = auxv(libc::AT_RANDOM);
    if at == 0 {
        return 0;
    }
    // SAFETY: the kernel put 16 bytes there, for as long as the process lives.
    unsafe { (at as *const u64).read_unaligned() }
}

fn auxv(tag: libc::c_ulong) -> usize {
    // SAFETY: getauxval takes any number.
    let value = unsafe { libc::getauxval(tag) };
    usize::try_from(value).unwrap_or(0)
}

/// A number that tells this thread from others: where its `errno` is.
pub fn thread_name() -> usize {
    errno_at() as usize
}

/// Sets `errno`, for calls that fail as the program's own.
pub fn set_errno(error: Errno) {
    // SAFETY: this thread's errno.
    unsafe { errno_at().write(error.0) };
}

/// The result of an interposed call, as C has it: `errno` set, and −1.
pub fn c_result(result: Result<()>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(error) => {
            set_errno(error);
            -1
        }
    }
}

/// The address of an interposed `mmap`, as C has it.
pub fn c_address(result: Result<usize>) -> *mut c_void {
    match result {
        Ok(addr) => addr as *mut c_void,
        Err(error) => {
            set_errno(error);
            libc::MAP_FAILED
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn facts_of_this_process() {
        assert!(page_size().is_power_of_two());
        assert!(!is_secure());
        assert_eq!(getpid(), std::process::id());
        assert!(links(c"/proc/self/task").unwrap() >= 3);
        assert!(identity(0).is_some());
        assert!(identity(-1).is_none());
    }
}
