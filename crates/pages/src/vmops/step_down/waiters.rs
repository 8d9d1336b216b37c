//! Threads that wait for a word of shared memory to change (`futex(2)`), while another object
//! comes to stand behind it.
//!
//! The kernel knows such a waiter by the object and the offset in it, not by the address: it
//! would wait for a word that nobody can reach any more. So the waiters are moved to the same
//! word of the new object before that is put there, and woken once afterwards, since whoever
//! has changed the word meanwhile may have woken nobody: those that wait for words look
//! again at any time. A thread that is on its way into such a wait at the very moment in
//! which the one object takes the place of the other is not seen.

use core::ffi::CStr;
use core::ops::Range;

use crate::kernel::facts;
use crate::migrate::shield::Shield;
use crate::rt::path::Path;
use crate::sys::{self, Dir, Errno, Filter, Result};

/// So many words are waited for in one piece of memory; with more of them it stays.
const PLACES: usize = 64;

/// Calls that wait for words named in a list, and those of words of other sizes.
const OTHER_WAITS: [usize; 2] = [449, 455];

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    /// Nothing that concerns us.
    Other,
    /// It waits for a word in shared memory.
    Waits(usize),
    /// It waits in a way that cannot be moved.
    Stays,
}

/// Whether all that other threads wait for can be moved: not where what they do cannot be
/// told, and not where the kernel keeps more of a waiter than the word.
pub(super) fn can_move() -> bool {
    !facts::has_threads() || each(|doing| doing != Doing::Stays)
}

/// The words of a piece of memory that other threads wait for.
pub(super) struct Words {
    addrs: [usize; PLACES],
    count: usize,
    of: Range<usize>,
    /// Where the same memory of the new object is seen.
    new: usize,
}

impl Words {
    /// Of this memory none are known yet.
    pub(super) fn of(range: Range<usize>, new: usize) -> Words {
        Words {
            addrs: [0; PLACES],
            count: 0,
            of: range,
            new,
        }
    }

    /// Moves who waits in the memory to the new object.
    ///
    /// # Errors
    /// `EBUSY` where that cannot be done.
    pub(super) fn move_waiters(&mut self) -> Result<()> {
        if !facts::has_threads() {
            return Ok(());
        }
        // What was not waited for at the first look may be at the second one.
        for _ in 0..2 {
            if !each(|doing| self.note(doing)) {
                return Err(Errno(libc::EBUSY));
            }
            for addr in &self.addrs[..self.count] {
                sys::futex_requeue(*addr, self.seen_at(*addr));
            }
        }
        Ok(())
    }

    /// The same once more, just before the new object is put there: while much is copied
    /// others may have begun to wait. Not behind a shield that has them wait with the kernel,
    /// as we would, too.
    pub(super) fn come_along(&mut self, shield: &Shield) -> Result<()> {
        match shield {
            Shield::Whole(_) => Ok(()),
            _ => self.move_waiters(),
        }
    }

    /// Wakes who was moved.
    pub(super) fn wake(&self) {
        for addr in &self.addrs[..self.count] {
            sys::futex_wake_shared(self.seen_at(*addr));
        }
    }

    fn seen_at(&self, addr: usize) -> usize {
        self.new + (addr - self.of.start)
    }

    /// Whether there was room for it.
    fn note(&mut self, doing: Doing) -> bool {
        let addr = match doing {
            Doing::Waits(addr) if self.of.contains(&addr) => addr,
            doing => return doing != Doing::Stays,
        };
        if self.addrs[..self.count].contains(&addr) {
            return true;
        }
        let Some(place) = self.addrs.get_mut(self.count) else {
            return false;
        };
        *place = addr;
        self.count += 1;
        true
    }
}

/// Calls `visit` with what each thread does, until it says no; whether it never did, and all
/// could be told.
fn each(mut visit: impl FnMut(Doing) -> bool) -> bool {
    if sys::filter() == Filter::Own {
        return false;
    }
    let Ok(dir) = Dir::open(c"/proc/self/task") else {
        return false;
    };
    let mut goes_on = true;
    dir.each(|name| goes_on = goes_on && doing_of(name).is_some_and(&mut visit));
    goes_on
}

/// What the thread of this name does; `None` where it cannot be told.
fn doing_of(name: &CStr) -> Option<Doing> {
    let text = name.to_str().ok()?;
    if text.starts_with('.') {
        return Some(Doing::Other);
    }
    let path = Path::of(format_args!("/proc/self/task/{text}/syscall"))?;
    let mut buffer = [0; 256];
    let file = match sys::File::open(path.c_str(), libc::O_RDONLY) {
        // It has ended.
        Err(Errno(libc::ENOENT | libc::ESRCH)) => {
            let has_ended = sys::links(path_of_task(text)?.c_str()).is_none();
            return has_ended.then_some(Doing::Other);
        }
        file => file.ok()?,
    };
    match file.read(&mut buffer) {
        Err(Errno(libc::ESRCH)) | Ok(0) => Some(Doing::Other),
        Err(_) => None,
        Ok(read) => Some(doing(&buffer[..read])),
    }
}

fn path_of_task(text: &str) -> Option<Path> {
    Path::of(format_args!("/proc/self/task/{text}"))
}

/// What a line of `/proc/PID/syscall` says.
fn doing(line: &[u8]) -> Doing {
    const PRIVATE: usize = 128;
    const REALTIME: usize = 256;
    const WAIT: usize = 0;
    const WAKE: usize = 1;
    const REQUEUE: usize = 3;
    const CMP_REQUEUE: usize = 4;
    const WAKE_OP: usize = 5;
    const WAIT_BITSET: usize = 9;
    const WAKE_BITSET: usize = 10;
    let mut words = line
        .split(u8::is_ascii_whitespace)
        .map(|word| core::str::from_utf8(word).ok());
    let number = words.next().flatten().and_then(|word| word.parse().ok());
    let mut argument = || {
        let word = words.next().flatten()?.strip_prefix("0x")?;
        usize::from_str_radix(word, 16).ok()
    };
    let Some(number) = number else {
        // It runs, and waits for nothing.
        return Doing::Other;
    };
    if OTHER_WAITS.contains(&number) {
        return Doing::Stays;
    }
    let is_wait = [libc::SYS_futex, libc::SYS_restart_syscall]
        .iter()
        .any(|known| usize::try_from(*known) == Ok(number));
    let (Some(addr), Some(how)) = (argument(), argument()) else {
        return Doing::Other;
    };
    if !is_wait || how & PRIVATE != 0 {
        return Doing::Other;
    }
    match how & !REALTIME & 0xffff_ffff {
        WAIT | WAIT_BITSET => Doing::Waits(addr),
        WAKE | REQUEUE | CMP_REQUEUE | WAKE_OP | WAKE_BITSET => Doing::Other,
        _ if usize::try_from(libc::SYS_futex) != Ok(number) => Doing::Other,
        _ => Doing::Stays,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn what_a_line_says() {
        let of = |line: &str| doing(line.as_bytes());
        assert_eq!(of("running\n"), Doing::Other);
        assert_eq!(of("-1 0x7ffc 0x7f12\n"), Doing::Other);
        assert_eq!(
            of("202 0x7f00 0x0 0x2 0x0 0x0 0x0 0x1 0x2\n"),
            Doing::Waits(0x7f00)
        );
        assert_eq!(of("202 0x7f00 0x189 0x2 0x0\n"), Doing::Other, "private");
        assert_eq!(of("202 0x7f00 0x109 0x2 0x0\n"), Doing::Waits(0x7f00));
        assert_eq!(of("219 0x7f00 0x9 0x2 0x0\n"), Doing::Waits(0x7f00));
        assert_eq!(
            of("202 0x7f00 0x6 0x0 0x0\n"),
            Doing::Stays,
            "of a lock with an owner"
        );
        assert_eq!(of("449 0x7f00 0x1 0x0\n"), Doing::Stays);
        assert_eq!(of("0 0x3 0x7f00 0x9\n"), Doing::Other);
    }

    #[test]
    fn a_waiter_is_moved_and_woken() {
        use core::sync::atomic::{AtomicU32, Ordering};
        use std::time::Duration;
        let page = sys::page_size();
        let (prot, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_ANONYMOUS,
        );
        #[expect(unsafe_code, reason = "maps memory for the test")]
        // SAFETY: a new mapping.
        let map = || unsafe { sys::mmap(0, page, prot, flags, -1, 0).unwrap() };
        let (old, new) = (map(), map());
        static STEP: AtomicU32 = AtomicU32::new(0);
        let waiter = std::thread::spawn(move || {
            STEP.store(1, Ordering::SeqCst);
            sys::futex_wait_shared(old + 64, 0);
            STEP.store(2, Ordering::SeqCst);
        });
        let mut words = Words::of(old..old + page, new);
        while words.count == 0 {
            std::thread::sleep(Duration::from_millis(1));
            words.move_waiters().unwrap();
        }
        assert_eq!(words.addrs[0], old + 64);
        sys::futex_wake_shared(old + 64);
        std::thread::sleep(Duration::from_millis(50));
        assert_eq!(STEP.load(Ordering::SeqCst), 1, "nobody waits there");
        words.wake();
        waiter.join().unwrap();
    }
}
