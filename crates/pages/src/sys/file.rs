//! Files, closed when dropped. Those opened here are closed at `exec`, too.
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use core::ffi::{CStr, c_int, c_short};

use super::call::{Errno, Result, call, create_call, file_call, filled, unfiltered_call};
use super::process::{NoSignals, timespec};
use super::{limit, path};
use crate::sys::cast::{extended, int, unsigned};

/// An open file.
#[derive(Debug)]
pub struct File(c_int);

impl File {
    /// Opens a file.
    pub fn open(path: &CStr, flags: c_int) -> Result<File> {
        File::open_mode(path, flags, 0)
    }

    /// Opens a file; `mode` is for `O_CREAT`.
    pub fn open_mode(path: &CStr, flags: c_int, mode: usize) -> Result<File> {
        File::open_at(libc::AT_FDCWD, path, flags, mode)
    }

    /// Opens a file relative to a directory.
    pub(super) fn open_at(dir: c_int, path: &CStr, flags: c_int, mode: usize) -> Result<File> {
        let (path, flags) = (path.as_ptr() as usize, extended(flags | libc::O_CLOEXEC));
        file_call(libc::SYS_openat, [extended(dir), path, flags, mode]).map(|fd| File(int(fd)))
    }

    /// Duplicates another process's descriptor (Linux 5.6; needs ptrace rights).
    pub fn of_process(pid: u32, fd: c_int) -> Result<File> {
        let process = unfiltered_call(libc::SYS_pidfd_open, [pid as usize, 0])?;
        let process = File(int(process));
        let args = [extended(process.0), extended(fd), 0];
        unfiltered_call(libc::SYS_pidfd_getfd, args).map(|fd| File(int(fd)))
    }

    /// Takes ownership of a descriptor.
    pub fn from_fd(fd: c_int) -> File {
        File(fd)
    }

    /// Moves to a descriptor from 500 up, so that the program's files keep their usual numbers.
    /// `None` if the limit is lower; the file is closed.
    pub fn with_high_number(self) -> Option<File> {
        const LEAST: usize = 500;
        let command = libc::F_DUPFD_CLOEXEC as usize;
        let moved = file_call(libc::SYS_fcntl, [extended(self.0), command, LEAST]);
        moved.ok().map(|fd| File(int(fd)))
    }

    /// Returns the descriptor, left open.
    pub fn into_fd(self) -> c_int {
        core::mem::ManuallyDrop::new(self).0
    }

    /// Reads once; returns the length.
    pub fn read(&self, buffer: &mut [u8]) -> Result<usize> {
        let (at, len) = (buffer.as_mut_ptr() as usize, buffer.len());
        call(libc::SYS_read, [extended(self.0), at, len])
    }

    /// Creates an executable hugetlb file by `memfd_create(2)`. `flags`: `MFD_HUGETLB` and the page
    /// size.
    ///
    /// # Errors
    /// As `memfd_create`; `ENODEV` for an unsupported size.
    pub fn hugetlb(name: &CStr, flags: c_int) -> Result<File> {
        // Since Linux 6.3. Older kernels return EINVAL; all their memfds are executable.
        const MFD_EXEC: c_int = 0x10;
        let create = |more: c_int| {
            let flags = unsigned(flags | more) | libc::MFD_CLOEXEC;
            let args = [name.as_ptr() as usize, flags as usize];
            create_call(libc::SYS_memfd_create, args).map(|fd| File(int(fd)))
        };
        match create(MFD_EXEC) {
            Err(Errno(libc::EINVAL)) => create(0),
            result => result,
        }
    }

    /// The descriptor, for a mapping of the file.
    pub fn fd(&self) -> c_int {
        self.0
    }

    /// Its length; `None` if unknown.
    pub fn size(&self) -> Option<usize> {
        usize::try_from(status(self.0)?.st_size).ok()
    }

    /// `ftruncate(2)`, but returns `EFBIG` where the kernel would also raise SIGXFSZ.
    pub fn set_len(&self, len: usize) -> Result<()> {
        if !limit::allows_file_size(len) {
            return Err(Errno(libc::EFBIG));
        }
        call(libc::SYS_ftruncate, [extended(self.0), len]).map(drop)
    }

    /// Reads once at an offset; returns the length.
    pub fn read_at(&self, buffer: &mut [u8], offset: usize) -> Result<usize> {
        read_at(self.0, buffer, offset)
    }

    /// Reads one byte to an address. If its page can't be populated, returns `EFAULT` without a signal.
    ///
    /// # Safety
    /// The byte must be the caller's to overwrite.
    pub unsafe fn read_byte_to(&self, addr: usize) -> Result<usize> {
        call(libc::SYS_read, [extended(self.0), addr, 1])
    }

    /// Writes to a file just opened; returns `EFBIG` instead of writing a part or raising SIGXFSZ.
    pub fn write_first(&self, buffer: &[u8]) -> Result<usize> {
        match limit::allows_file_size(buffer.len()) {
            true => write(self.0, buffer),
            false => Err(Errno(libc::EFBIG)),
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = call(libc::SYS_close, [extended(self.0)]);
    }
}

/// `write(2)`.
pub fn write(fd: c_int, buffer: &[u8]) -> Result<usize> {
    let (at, len) = (buffer.as_ptr() as usize, buffer.len());
    call(libc::SYS_write, [extended(fd), at, len])
}

/// Writes once, unless the reader takes nothing for 100 ms. Consumes the SIGPIPE or SIGXFSZ of the
/// write.
///
/// # Errors
/// If the file doesn't take all of it; a missing or stuck reader is no error.
pub fn write_quietly(fd: c_int, buffer: &[u8]) -> Result<()> {
    let _quiet = NoSignals::where_allowed();
    if !poll(fd, libc::POLLOUT, 100) {
        return Ok(());
    }
    let before = pending_signals();
    let result = match write(fd, buffer) {
        Ok(written) if written < buffer.len() => Err(Errno(libc::ENOSPC)),
        result => result.map(drop),
    };
    let raised = match result {
        Err(Errno(libc::EPIPE)) => libc::SIGPIPE,
        Err(Errno(libc::EFBIG)) => libc::SIGXFSZ,
        result => return result,
    };
    let set = 1_u64 << (raised - 1);
    if before & set == 0 {
        consume_signal(set);
    }
    match raised {
        libc::SIGPIPE => Ok(()),
        _ => result,
    }
}

/// Waits until a descriptor has one of these events; returns false after `milliseconds`.
pub(super) fn poll(fd: c_int, events: c_short, milliseconds: u64) -> bool {
    // The kernel overwrites it with the remaining time.
    let mut timeout = timespec(milliseconds);
    let mut file = libc::pollfd {
        fd,
        events,
        revents: 0,
    };
    let (at, time) = (core::ptr::from_mut(&mut file), timeout.as_mut_ptr());
    call(libc::SYS_ppoll, [at as usize, 1, time as usize, 0]) == Ok(1)
}

fn pending_signals() -> u64 {
    let mut set = 0_u64;
    let at = core::ptr::from_mut(&mut set) as usize;
    let _ = call(libc::SYS_rt_sigpending, [at, size_of::<u64>()]);
    set
}

fn consume_signal(set: u64) {
    let now = [0_u64; 2];
    let (set, now) = (core::ptr::from_ref(&set), now.as_ptr());
    let args = [set as usize, 0, now as usize, size_of::<u64>()];
    let _ = call(libc::SYS_rt_sigtimedwait, args);
}

/// `readlink(2)`; returns the length.
pub fn read_link(path: &CStr, buffer: &mut [u8]) -> Result<usize> {
    let (start, len) = (buffer.as_mut_ptr() as usize, buffer.len());
    let name = path.as_ptr() as usize;
    let args = [extended(libc::AT_FDCWD), name, start, len];
    file_call(libc::SYS_readlinkat, args)
}

/// Reads once at an offset; returns the length.
pub fn read_at(fd: c_int, buffer: &mut [u8], offset: usize) -> Result<usize> {
    let (at, len) = (buffer.as_mut_ptr() as usize, buffer.len());
    call(libc::SYS_pread64, [extended(fd), at, len, offset])
}

/// Device and inode of an open file.
pub fn identity(fd: c_int) -> Option<(u64, u64)> {
    status(fd).map(|stat| (stat.st_dev, stat.st_ino))
}

/// Flags of an open file.
pub fn open_flags(fd: c_int) -> Option<c_int> {
    let flags = unfiltered_call(libc::SYS_fcntl, [extended(fd), extended(libc::F_GETFL)]);
    flags.ok().map(int)
}

/// Whether it is a regular file, a block device or a memory device such as `/dev/null`.
pub fn is_file_or_memory_device(fd: c_int) -> bool {
    const MEMORY: u32 = 1;
    status(fd).is_some_and(|stat| match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG | libc::S_IFBLK => true,
        libc::S_IFCHR => libc::major(stat.st_rdev) == MEMORY,
        _ => false,
    })
}

/// Major and minor number of a tmpfs file's device (`memfd_create(2)`, `shm_open(3)`);
/// `None` for others.
pub fn tmpfs_device(fd: c_int) -> Option<(u64, u64)> {
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    let is_tmpfs = path::file_system_of(fd).ok()?.kind == TMPFS_MAGIC;
    let device = status(fd).filter(|_| is_tmpfs)?.st_dev;
    Some((libc::major(device).into(), libc::minor(device).into()))
}

/// Whether a descriptor is of `/dev/zero`.
pub fn is_dev_zero(fd: c_int) -> bool {
    status(fd).is_some_and(|stat| {
        stat.st_mode & libc::S_IFMT == libc::S_IFCHR && stat.st_rdev == libc::makedev(1, 5)
    })
}

/// `fstat(2)`; `None` if the descriptor is closed or a filter forbids the call.
pub(super) fn status(fd: c_int) -> Option<libc::stat> {
    // SAFETY: all bits zero are a valid stat.
    unsafe { filled(|stat| file_call(libc::SYS_fstat, [extended(fd), stat])) }.ok()
}

/// `st_nlink` of a path. For `/proc/self/task` it is the number of threads plus two.
pub fn link_count(path: &CStr) -> Option<libc::nlink_t> {
    stat(path).map(|stat| stat.st_nlink)
}

/// Device and inode of a path.
pub fn identity_of(path: &CStr) -> Option<(u64, u64)> {
    stat(path).map(|stat| (stat.st_dev, stat.st_ino))
}

/// Inode of a path.
pub fn inode(path: &CStr) -> Option<u64> {
    stat(path).map(|stat| stat.st_ino)
}

fn stat(path: &CStr) -> Option<libc::stat> {
    let (dir, path) = (extended(libc::AT_FDCWD), path.as_ptr() as usize);
    // SAFETY: all bits zero are a valid stat.
    unsafe { filled(|stat| file_call(libc::SYS_newfstatat, [dir, path, stat])) }.ok()
}
