//! The functions of libc by which a process is asked about itself, its limits and the
//! machine; see `crate::kernel_writes::buffers`.
#![expect(unsafe_code, reason = "exports functions of libc")]

use core::ffi::{c_char, c_int, c_uint, c_void};
use core::ops::Range;

use hugetools_pages::sys;
use libc::{gid_t, iovec, pid_t, rlimit, rusage, timespec, uid_t};

use crate::kernel_writes::buffers::{again, again_for, array, one, range, ranges};
use crate::kernel_writes::copies::copied;
use crate::kernel_writes::tables::{made_again, made_again_by_number, next_of_many};
use crate::next::call::{NO_CALL, next};

/// What `sysinfo(2)` fills, and more than `uname(2)` does.
const LONG: usize = 512;

made_again! {
    /// `getrusage(2)`
    getrusage, c"getrusage", (who: c_int, usage: *mut rusage) -> c_int, NO_CALL, [one(usage)];
    /// `getrlimit(2)`
    getrlimit, c"getrlimit", (which: c_int, limit: *mut rlimit) -> c_int, NO_CALL, [one(limit)];
    /// `getrlimit(2)`, by the name for large files.
    getrlimit64, c"getrlimit64", (which: c_int, limit: *mut rlimit) -> c_int, NO_CALL, [one(limit)];
    /// `getgroups(2)`
    getgroups, c"getgroups", (count: c_int, all: *mut gid_t) -> c_int, NO_CALL, [array(all, count)];
    /// `getgroups(2)` of programs that are checked for overflows.
    __getgroups_chk, c"__getgroups_chk", (count: c_int, all: *mut gid_t, room: usize) -> c_int,
        NO_CALL, [array(all, count)];
    /// `getresuid(2)`
    getresuid, c"getresuid", (own: *mut uid_t, at_work: *mut uid_t, saved: *mut uid_t) -> c_int,
        NO_CALL, [one(own), one(at_work), one(saved)];
    /// `getresgid(2)`
    getresgid, c"getresgid", (own: *mut gid_t, at_work: *mut gid_t, saved: *mut gid_t) -> c_int,
        NO_CALL, [one(own), one(at_work), one(saved)];
    /// `uname(2)`
    uname, c"uname", (names: *mut c_void) -> c_int, NO_CALL, [range(names as usize, LONG)];
    /// `sysinfo(2)`
    sysinfo, c"sysinfo", (about: *mut c_void) -> c_int, NO_CALL, [range(about as usize, LONG)];
    /// `sched_getaffinity(2)`
    sched_getaffinity, c"sched_getaffinity", (process: pid_t, len: usize, set: *mut c_void) -> c_int,
        NO_CALL, [range(set as usize, len)];
    /// `sched_getparam(2)`
    sched_getparam, c"sched_getparam", (process: pid_t, priority: *mut c_int) -> c_int,
        NO_CALL, [one(priority)];
    /// `sched_getattr(2)`
    sched_getattr, c"sched_getattr",
        (process: pid_t, about: *mut c_void, len: c_uint, flags: c_uint) -> c_int,
        libc::SYS_sched_getattr, [range(about as usize, len as usize)];
    /// `sched_rr_get_interval(2)`
    sched_rr_get_interval, c"sched_rr_get_interval", (process: pid_t, time: *mut timespec) -> c_int,
        NO_CALL, [one(time)];
    /// `capget(2)`
    capget, c"capget", (header: *mut [u32; 2], data: *mut [u32; 6]) -> c_int,
        NO_CALL, [one(header), one(data)];
    /// `capset(2)`, to which the kernel says which version of it there is.
    capset, c"capset", (header: *mut [u32; 2], data: *const [u32; 6]) -> c_int,
        NO_CALL, [one(header)];
    /// `mincore(2)`
    mincore, c"mincore", (addr: *mut c_void, len: usize, pages: *mut u8) -> c_int,
        NO_CALL, [range(pages as usize, len.div_ceil(sys::page_size()))];
}

// Elsewhere it mostly asks no kernel, and takes a few nanoseconds.
#[cfg(target_arch = "aarch64")]
made_again! {
    /// `getcpu(2)`
    getcpu, c"getcpu", (processor: *mut c_uint, node: *mut c_uint) -> c_int,
        libc::SYS_getcpu, [one(processor), one(node)];
}

#[cfg(target_arch = "x86_64")]
made_again! {
    /// `modify_ldt(2)`
    modify_ldt, c"modify_ldt", (task: c_int, table: *mut c_void, len: usize) -> c_int,
        NO_CALL, [range(table as usize, len)];
}

made_again_by_number! {
    /// `pthread_getaffinity_np(3)`
    pthread_getaffinity_np, c"pthread_getaffinity_np",
        (thread: usize, len: usize, set: *mut c_void), libc::EFAULT, [range(set as usize, len)];
    /// `pthread_getschedparam(3)`
    pthread_getschedparam, c"pthread_getschedparam",
        (thread: usize, policy: *mut c_int, priority: *mut c_int), libc::EFAULT,
        [one(policy), one(priority)];
    /// `pthread_getname_np(3)`
    pthread_getname_np, c"pthread_getname_np",
        (thread: usize, name: *mut c_char, len: usize), libc::EFAULT, [range(name as usize, len)];
}

/// `prlimit(2)`, by its names.
macro_rules! prlimit_as {
    ($name:ident, $text:literal) => {
        /// `prlimit(2)`, whose old limits there are once.
        ///
        /// # Safety
        /// As libc's.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            process: pid_t,
            which: c_int,
            new: *const rlimit,
            old: *mut rlimit,
        ) -> c_int {
            let call = |old| {
                next!(
                    $text,
                    fn(pid_t, c_int, *const rlimit, *mut rlimit) -> c_int,
                    NO_CALL,
                    (process, which, new, old)
                )
            };
            // SAFETY: as the caller says.
            unsafe { copied(old, call) }
        }
    };
}

prlimit_as!(prlimit, c"prlimit");
prlimit_as!(prlimit64, c"prlimit64");

/// `process_vm_readv(2)`, which ends early where the kernel cannot write.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn process_vm_readv(
    process: pid_t,
    to: *const iovec,
    count: usize,
    from: *const iovec,
    most: usize,
    flags: usize,
) -> isize {
    let call = || {
        next!(
            c"process_vm_readv",
            fn(pid_t, *const iovec, usize, *const iovec, usize, usize) -> isize,
            NO_CALL,
            (process, to, count, from, most, flags)
        )
    };
    // SAFETY: as the caller says.
    whole(|| unsafe { ranges(to, count) }, call)
}

/// `process_vm_writev(2)`, which may write to this process.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn process_vm_writev(
    process: pid_t,
    from: *const iovec,
    count: usize,
    to: *const iovec,
    most: usize,
    flags: usize,
) -> isize {
    let call = || {
        next!(
            c"process_vm_writev",
            fn(pid_t, *const iovec, usize, *const iovec, usize, usize) -> isize,
            NO_CALL,
            (process, from, count, to, most, flags)
        )
    };
    // SAFETY: as the caller says.
    whole(|| unsafe { ranges(to, most) }, call)
}

/// Makes a call that fills buffers, and again where it has filled a part of them.
fn whole<I: Iterator<Item = Range<usize>>>(
    buffers: impl Fn() -> I,
    call: impl Fn() -> isize,
) -> isize {
    use hugetools_pages::migrate::retry::Call;
    let mut state = Call::begin();
    let got = again(&buffers, &call);
    let is_part = |got: isize| {
        let room = buffers().fold(0_usize, |sum, one| sum.saturating_add(one.len()));
        usize::try_from(got).is_ok_and(|got| 0 < got && got < room)
    };
    match is_part(got) && state.is_to_be_made_again(buffers()) {
        true => again(&buffers, &call),
        false => got,
    }
}

/// `ptrace(2)`, whose last argument is mostly where the answer goes.
///
/// # Safety
/// As libc's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptrace(request: c_int, process: usize, addr: usize, data: usize) -> isize {
    /// More than the registers of any machine.
    const ANSWER: usize = 4096;
    again_for(
        || [range(addr, ANSWER), range(data, ANSWER)],
        || {
            next_of_many!(
                c"ptrace",
                fn(c_int) -> isize,
                NO_CALL,
                (request),
                (process, addr, data)
            )
        },
    )
}
