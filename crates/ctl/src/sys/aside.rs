//! A process aside: one that nobody waits for, which watches others end.
#![expect(
    unsafe_code,
    reason = "neither std nor nix has a safe fork, pidfd_open or close_range"
)]

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use hugetools_model::process::Stat;
use hugetools_model::{KPath, Root};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{SigSet, SigmaskHow, sigprocmask};
use nix::unistd::{ForkResult, chdir, fork, setsid};

use crate::sys::child;

/// What a process aside is called.
#[derive(Debug)]
pub(crate) struct Name<'a> {
    /// Its name, of at most 15 bytes.
    pub(crate) short: &'static std::ffi::CStr,
    /// Its command line.
    pub(crate) line: &'a str,
    /// Where `/proc` is, by which it finds its own words.
    pub(crate) root: &'a Root,
}

/// Runs `work` in a process of its own, in a session of its own, whose parent is
/// none of ours, with no signal but those that cannot be blocked. It has the
/// descriptors of `keep`, as 3, 4, …, and nothing else that is open here.
///
/// # Errors
/// Where there can be no other process.
pub(crate) fn run(keep: &[RawFd], name: &Name<'_>, work: impl FnOnce()) -> io::Result<()> {
    let between = || {
        let _ = setsid();
        // SAFETY: this process has one thread.
        if let Ok(ForkResult::Child) = unsafe { fork() } {
            let _ = sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::all()), None);
            // SAFETY: a name that ends in zero.
            unsafe { libc::prctl(libc::PR_SET_NAME, name.short.as_ptr()) };
            own_line(name);
            if step_aside(keep).is_ok() {
                work();
            }
        }
        0
    };
    child::run(between).map(drop)
}

/// Gives this process a command line of its own: who looks for a program by its words, as
/// `pkill -f` does, is not to find it. The words are where the kernel has put them.
fn own_line(name: &Name<'_>) {
    let own = KPath::from("/proc/self");
    let root = name.root;
    let text = root.read(&own.join("stat")).unwrap_or_default();
    let stat = Stat::parse(&text);
    let place = |number| usize::try_from(stat.as_ref()?.number(number)?).ok();
    let words = root.read(&own.join("cmdline")).unwrap_or_default();
    let (Some(start), Some(end)) = (place(48), place(49)) else {
        return;
    };
    if start == 0 || end.checked_sub(start) != Some(words.len()) {
        return;
    }
    let mut new = vec![0; words.len()];
    // One zero stays at the end: without it the kernel reads on.
    let room = words.len().saturating_sub(1);
    new.iter_mut()
        .take(room)
        .zip(name.line.bytes())
        .for_each(|(place, byte)| *place = byte);
    // SAFETY: the words that this process was given, so many as the kernel has just read
    // there; std copies them where it is asked for them, and nobody asks from here on.
    unsafe { std::ptr::copy_nonoverlapping(new.as_ptr(), start as *mut u8, new.len()) };
}

/// Lets go of the directory and of all descriptors but these. A limit of descriptors may
/// leave no more than they are (`ulimit -n`), so none is used besides.
fn step_aside(keep: &[RawFd]) -> io::Result<()> {
    const FIRST: RawFd = 3;
    chdir("/")?;
    let mut keep = keep.to_vec();
    for fd in (0..FIRST).filter(|fd| !keep.contains(fd)) {
        // SAFETY: nothing refers to it from here on.
        unsafe { libc::close(fd) };
    }
    let mut next = FIRST;
    for at in 0..keep.len() {
        // Its place may be another's, which is still to go to its own.
        if let Some(other) = keep.iter().skip(at + 1).position(|fd| *fd == next) {
            // SAFETY: duplicates a descriptor.
            let moved = unsafe { libc::fcntl(next, libc::F_DUPFD_CLOEXEC, 0) };
            keep[at + 1 + other] = check(moved)?;
        }
        if keep[at] != next {
            // SAFETY: replaces a descriptor that nothing refers to from here on.
            check(unsafe { libc::dup3(keep[at], next, libc::O_CLOEXEC) })?;
            // SAFETY: it is in its place.
            unsafe { libc::close(keep[at]) };
        }
        next += 1;
    }
    close_from(next);
    // SAFETY: a name that ends in zero. It is the first one that is closed.
    let mut null = unsafe { libc::open(c"/dev/null".as_ptr(), libc::O_RDWR) };
    while null < FIRST - 1 {
        // SAFETY: duplicates a descriptor, to the next one that is closed.
        null = check(unsafe { libc::dup(check(null)?) })?;
    }
    Ok(())
}

/// Closes this descriptor and all behind it.
fn close_from(first: RawFd) {
    // SAFETY: nothing refers to them from here on.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, first, RawFd::MAX, 0) };
    if closed != 0 {
        // Before Linux 5.9.
        for fd in first..4096 {
            // SAFETY: likewise.
            unsafe { libc::close(fd) };
        }
    }
}

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    match result {
        -1 => Err(io::Error::last_os_error()),
        value => Ok(value),
    }
}

/// A descriptor that [`run`] has kept.
pub(crate) fn kept(fd: RawFd) -> OwnedFd {
    // SAFETY: opened for it, and taken once.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A descriptor that stands for a process (Linux 5.3).
///
/// # Errors
/// Where there is no such process, or the kernel has none for it.
pub(crate) fn process(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: opens a descriptor, which nobody else has.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = check(RawFd::try_from(fd).unwrap_or(-1))?;
    Ok(kept(fd))
}

/// The status of a process that has ended, as `wait(2)` has it: since Linux 6.15,
/// once it was waited for.
pub(crate) fn status(process: &OwnedFd) -> Option<i32> {
    /// `struct pidfd_info`, as far as it has been there from the beginning.
    #[repr(C)]
    #[derive(Default)]
    struct Info {
        mask: u64,
        control_group: u64,
        numbers: [u32; 11],
        exit_code: i32,
    }
    const PIDFD_GET_INFO: libc::Ioctl = 0xc040_ff0b_u32 as libc::Ioctl;
    const EXIT: u64 = 1 << 3;
    let mut info = Info {
        mask: EXIT,
        ..Info::default()
    };
    // SAFETY: the kernel fills in what has this length.
    let result = unsafe { libc::ioctl(process.as_raw_fd(), PIDFD_GET_INFO, &raw mut info) };
    (result == 0 && info.mask & EXIT != 0).then_some(info.exit_code)
}

/// Whether the orphans of a process would become this one's children: the watcher
/// would be one that it knows nothing of.
pub(crate) fn adopts_orphans() -> bool {
    let mut adopts: libc::c_int = 0;
    // SAFETY: the kernel writes one number.
    let asked = unsafe { libc::prctl(libc::PR_GET_CHILD_SUBREAPER, &raw mut adopts) };
    std::process::id() == 1 || (asked == 0 && adopts != 0)
}

/// Waits until one of them has something to say, or the time is over. Which have.
///
/// # Errors
/// Where nobody can wait, as under a filter of system calls.
pub(crate) fn wait(files: &[&OwnedFd], time: Duration) -> io::Result<Vec<bool>> {
    use std::os::fd::AsFd;
    let mut all: Vec<PollFd<'_>> = files
        .iter()
        .map(|file| PollFd::new(file.as_fd(), PollFlags::POLLIN))
        .collect();
    // Rounded up, so that what is due then is due.
    let up = u128::from(!time.is_zero());
    let milliseconds = u16::try_from(time.as_millis() + up).unwrap_or(u16::MAX);
    match poll(&mut all, PollTimeout::from(milliseconds)) {
        Ok(_) | Err(Errno::EINTR | Errno::EAGAIN | Errno::ENOMEM) => {}
        Err(errno) => return Err(errno.into()),
    }
    Ok(all.iter().map(|file| file.any() == Some(true)).collect())
}

/// Whether a descriptor takes bytes within a second.
pub(crate) fn takes_bytes(file: &impl std::os::fd::AsFd) -> bool {
    let mut all = [PollFd::new(file.as_fd(), PollFlags::POLLOUT)];
    poll(&mut all, PollTimeout::from(1000_u16)).is_ok_and(|ready| ready > 0)
}
