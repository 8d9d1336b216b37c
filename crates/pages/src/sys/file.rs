//! Files, none of which outlives its use or an `exec`.
#![expect(unsafe_code, reason = "fills buffers of the kernel's types")]

use core::ffi::{CStr, c_int};

use super::call::{Errno, Result, ask, call, look, make_file};
use super::{NoSignals, limit};
use crate::sys::cast::{extended, int, unsigned};

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
        File::open_at(libc::AT_FDCWD, path, flags, mode)
    }

    /// The same by a name relative to an open directory.
    pub(super) fn open_at(dir: c_int, path: &CStr, flags: c_int, mode: usize) -> Result<File> {
        let args = [
            extended(dir),
            path.as_ptr() as usize,
            extended(flags | libc::O_CLOEXEC),
            mode,
            0,
            0,
        ];
        look(libc::SYS_openat, args).map(|fd| File(int(fd)))
    }

    /// An open file of another process, shared with it: since Linux 5.6, and
    /// where that process may be traced.
    pub fn of_process(pid: u32, fd: c_int) -> Result<File> {
        let process = ask(libc::SYS_pidfd_open, [pid as usize, 0, 0, 0, 0, 0])?;
        let process = File(int(process));
        let args = [extended(process.0), extended(fd), 0, 0, 0, 0];
        ask(libc::SYS_pidfd_getfd, args).map(|fd| File(int(fd)))
    }

    /// An open file that is ours to close.
    pub fn from_fd(fd: c_int) -> File {
        File(fd)
    }

    /// The same file under a high number, for long: the program's own files get the
    /// numbers that they would have without it. None where there is no such number.
    pub fn out_of_the_way(self) -> Option<File> {
        const LEAST: usize = 500;
        let command = libc::F_DUPFD_CLOEXEC as usize;
        let args = [extended(self.0), command, LEAST, 0, 0, 0];
        let moved = look(libc::SYS_fcntl, args);
        moved.ok().map(|fd| File(int(fd)))
    }

    /// The descriptor, which stays open.
    pub fn into_fd(self) -> c_int {
        core::mem::ManuallyDrop::new(self).0
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

    /// A file of hugetlb pages without a name, by `memfd_create(2)`. `flags`
    /// hold the page size. Mappings of it can be executed.
    ///
    /// # Errors
    /// As `memfd_create`, or `ENODEV` where there are no pages of that size.
    pub fn hugetlb(name: &CStr, flags: c_int) -> Result<File> {
        // Since Linux 6.3; before, nothing else was to be had.
        const MFD_EXEC: c_int = 0x10;
        let create = |more: c_int| {
            let flags = unsigned(flags | more) | libc::MFD_CLOEXEC;
            let args = [name.as_ptr() as usize, flags as usize, 0, 0, 0, 0];
            make_file(libc::SYS_memfd_create, args).map(|fd| File(int(fd)))
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

    /// How long it is; `None` where it cannot be told.
    pub fn size(&self) -> Option<usize> {
        usize::try_from(status(self.0)?.st_size).ok()
    }

    /// `ftruncate(2)`, without the signal of one that is longer than files may be.
    ///
    /// # Errors
    /// As `ftruncate`, `EFBIG` for that.
    pub fn set_len(&self, len: usize) -> Result<()> {
        if !limit::may_be_as_long(len) {
            return Err(Errno(libc::EFBIG));
        }
        let args = [extended(self.0), len, 0, 0, 0, 0];
        call(libc::SYS_ftruncate, args).map(drop)
    }

    /// Reads once from an offset into a buffer; how much.
    pub fn read_at(&self, buffer: &mut [u8], offset: usize) -> Result<usize> {
        read_at(self.0, buffer, offset)
    }

    /// Reads one byte to an address that need not be mapped: a page that
    /// cannot be had is an error here, where a store would be a signal.
    ///
    /// # Safety
    /// The byte must be the caller's to overwrite.
    pub unsafe fn read_byte_to(&self, addr: usize) -> Result<usize> {
        call(libc::SYS_read, [extended(self.0), addr, 1, 0, 0, 0])
    }

    /// Writes a buffer to the beginning of a file that was opened just now, without the
    /// signal of one that is longer than files may be.
    ///
    /// # Errors
    /// As `write(2)`, `EFBIG` for that.
    pub fn write_first(&self, buffer: &[u8]) -> Result<usize> {
        match limit::may_be_as_long(buffer.len()) {
            true => write(self.0, buffer),
            false => Err(Errno(libc::EFBIG)),
        }
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

/// Writes once to a descriptor that is not ours, unless nobody takes it for some
/// time. What a write raises does not reach the program: `SIGPIPE` where the
/// reader is gone, `SIGXFSZ` where the file is as long as it may be.
///
/// # Errors
/// When the file does not take all of it; not when nobody reads it.
pub fn write_quietly(fd: c_int, buffer: &[u8]) -> Result<()> {
    if !takes_bytes(fd) {
        return Ok(());
    }
    let _quiet = NoSignals::where_allowed();
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
        take_signal(set);
    }
    match raised {
        libc::SIGPIPE => Ok(()),
        _ => result,
    }
}

/// Whether a descriptor takes bytes now, or in a moment.
fn takes_bytes(fd: c_int) -> bool {
    // The kernel writes back what is left of it.
    let mut patience = [0_u64, 100_000_000];
    let mut file = libc::pollfd {
        fd,
        events: libc::POLLOUT,
        revents: 0,
    };
    let (at, time) = (core::ptr::from_mut(&mut file), patience.as_mut_ptr());
    let args = [at as usize, 1, time as usize, 0, 0, 0];
    call(libc::SYS_ppoll, args) == Ok(1)
}

/// Signals that wait for this thread or for the process.
fn pending_signals() -> u64 {
    let mut set = 0_u64;
    let at = core::ptr::from_mut(&mut set) as usize;
    let _ = call(libc::SYS_rt_sigpending, [at, size_of::<u64>(), 0, 0, 0, 0]);
    set
}

/// Takes a signal of the set away, if one waits.
fn take_signal(set: u64) {
    let now = [0_u64; 2];
    let (set, now) = (core::ptr::from_ref(&set), now.as_ptr());
    let args = [set as usize, 0, now as usize, size_of::<u64>(), 0, 0];
    let _ = call(libc::SYS_rt_sigtimedwait, args);
}

/// `readlink(2)`; how long the name is.
pub fn read_link(path: &CStr, buffer: &mut [u8]) -> Result<usize> {
    let (start, len) = (buffer.as_mut_ptr() as usize, buffer.len());
    let name = path.as_ptr() as usize;
    let args = [extended(libc::AT_FDCWD), name, start, len, 0, 0];
    look(libc::SYS_readlinkat, args)
}

/// Reads once from an offset of an open file into a buffer; how much.
pub fn read_at(fd: c_int, buffer: &mut [u8], offset: usize) -> Result<usize> {
    let args = [
        extended(fd),
        buffer.as_mut_ptr() as usize,
        buffer.len(),
        offset,
        0,
        0,
    ];
    call(libc::SYS_pread64, args)
}

/// What tells one open file from another: device and inode.
pub fn identity(fd: c_int) -> Option<(u64, u64)> {
    status(fd).map(|stat| (stat.st_dev, stat.st_ino))
}

/// The flags of an open file; `None` for none.
pub fn open_flags(fd: c_int) -> Option<c_int> {
    let args = [extended(fd), extended(libc::F_GETFL), 0, 0, 0, 0];
    ask(libc::SYS_fcntl, args).ok().map(int)
}

/// Whether an open file has all that is asked for at once, or ends: a plain one,
/// or `/dev/zero` and its like.
pub fn is_plain_file(fd: c_int) -> bool {
    const MEMORY: u32 = 1;
    status(fd).is_some_and(|stat| match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG | libc::S_IFBLK => true,
        libc::S_IFCHR => libc::major(stat.st_rdev) == MEMORY,
        _ => false,
    })
}

/// The device of a file that lies in memory, as those of `memfd_create(2)` and
/// `shm_open(3)` do: major and minor number. `None` for any other, and for what cannot be
/// told.
pub fn device_in_memory(fd: c_int) -> Option<(u64, u64)> {
    const TMPFS_MAGIC: u64 = 0x0102_1994;
    let mut state = core::mem::MaybeUninit::<libc::statfs>::zeroed();
    let args = [extended(fd), state.as_mut_ptr() as usize, 0, 0, 0, 0];
    look(libc::SYS_fstatfs, args).ok()?;
    // SAFETY: all bits zero are a valid state, and the kernel has filled it.
    let kind = unsafe { state.assume_init() }.f_type;
    let is_tmpfs = u64::try_from(kind & 0xffff_ffff).is_ok_and(|kind| kind == TMPFS_MAGIC);
    let device = status(fd).filter(|_| is_tmpfs)?.st_dev;
    Some((libc::major(device).into(), libc::minor(device).into()))
}

/// `fstat(2)`; `None` for no open file.
pub(super) fn status(fd: c_int) -> Option<libc::stat> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    let args = [extended(fd), stat.as_mut_ptr() as usize, 0, 0, 0, 0];
    look(libc::SYS_fstat, args).ok()?;
    // SAFETY: all bits zero are a valid stat, and the kernel has filled it.
    Some(unsafe { stat.assume_init() })
}

/// The number of links of a file, which for `/proc/self/task` is two more
/// than there are threads.
pub fn links(path: &CStr) -> Option<libc::nlink_t> {
    stat(path).map(|stat| stat.st_nlink)
}

/// What tells one file from another, by its name: device and inode.
pub fn identity_of(path: &CStr) -> Option<(u64, u64)> {
    stat(path).map(|stat| (stat.st_dev, stat.st_ino))
}

/// The inode of a file.
pub fn inode(path: &CStr) -> Option<u64> {
    stat(path).map(|stat| stat.st_ino)
}

pub(super) fn stat(path: &CStr) -> Option<libc::stat> {
    stat_of(path).ok()
}

fn stat_of(path: &CStr) -> Result<libc::stat> {
    let mut stat = core::mem::MaybeUninit::<libc::stat>::zeroed();
    let (name, start) = (path.as_ptr() as usize, stat.as_mut_ptr() as usize);
    let args = [extended(libc::AT_FDCWD), name, start, 0, 0, 0];
    look(libc::SYS_newfstatat, args)?;
    // SAFETY: all bits zero are a valid stat, and the kernel has filled it.
    Ok(unsafe { stat.assume_init() })
}
