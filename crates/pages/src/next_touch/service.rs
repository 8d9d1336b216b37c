//! The thread that serves faults.

use core::ffi::c_void;
use core::ops::Range;

use super::commands::{self, Command};
use super::mover::Mover;
use super::ranges;
use crate::rt::weak;
use crate::sys::{self, Errno, MoveFault, Result};

/// How long (ms) after the last request untouched pieces come back.
const TIMEOUT: u64 = 60_000;

/// Maximum time (ms) until the service sees a command. It polls, since the program could close a
/// wake-up descriptor and reuse its number.
const LATENCY: u64 = 10;

/// Blocks the program's signals in a thread of ours, but not faults and libc's own: `setuid` waits
/// for all threads. Signal 34 is musl's own, but under glibc it is the program's `SIGRTMIN`.
pub fn block_program_signals() {
    let libcs: u64 = match weak::is_glibc() {
        true => 0b011 << 31,
        false => 0b111 << 31,
    };
    sys::set_blocked_signals(!(sys::FAULT_SIGNALS | libcs));
}

pub(super) extern "C-unwind" fn run(_: *mut c_void) -> *mut c_void {
    block_program_signals();
    let faults = commands::userfaultfd();
    // The program may close all descriptors, and forked children would keep them open. On failure
    // the caller closes its own.
    let unshared = sys::unshare_files_except(faults);
    // The inherited affinity may be a busy CPU.
    sys::allow_all_cpus();
    match unshared.and_then(|()| Mover::new(MoveFault::from_fd(faults))) {
        Ok(mut mover) => serve(&mut mover),
        Err(error) => {
            commands::answer(Err(error));
            while !commands::try_end() {
                commands::answer(Err(error));
            }
        }
    }
    core::ptr::null_mut()
}

/// Serves commands and faults until no piece is parked or `TIMEOUT` is over.
fn serve(mover: &mut Mover) {
    let mut end = 0;
    loop {
        match commands::next() {
            Some(Command::Finish) => {
                mover.finish();
                return commands::end();
            }
            Some(Command::Add(range)) => {
                let result = add(mover, &range);
                end = sys::now() + TIMEOUT;
                commands::answer(result);
            }
            None => {}
        }
        let left = end.saturating_sub(sys::now());
        if left == 0 || mover.should_end() {
            mover.finish();
            if commands::try_end() {
                return;
            }
        }
        mover.userfaultfd().wait(left.min(LATENCY));
        mover.serve();
    }
}

/// Maximum number of mappings that one request parks; the others stay.
const MAX_MAPPINGS: usize = 48;

/// Parks a range; returns the bytes parked.
fn add(mover: &mut Mover, range: &Range<usize>) -> Result<usize> {
    let stack = 0_u8;
    let own = [(&raw const stack) as usize, sys::thread_key()];
    let mut parts = [const { (0..0, 0) }; MAX_MAPPINGS];
    let mut count = 0;
    mover.finish_if_parked(range);
    ranges::for_each_movable(range, |part, prot| {
        if let Some(place) = parts.get_mut(count) {
            *place = (part, prot);
            count += 1;
        }
    });
    let mut result = Err(Errno(libc::EINVAL));
    let mut bytes = 0;
    for (part, prot) in &parts[..count] {
        if own.iter().any(|addr| part.contains(addr)) {
            continue;
        }
        match mover.park(part, *prot) {
            Ok(()) => {
                bytes += part.len();
                result = Ok(bytes);
            }
            Err(error) if bytes == 0 => result = Err(error),
            Err(_) => {}
        }
    }
    result
}
