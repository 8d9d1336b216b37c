//! The fallback: the kernel's NUMA balancing, which later moves pages to the nodes of the
//! threads that use them.
#![expect(unsafe_code, reason = "sets policies")]

use core::ops::Range;

use super::{nodes, ranges};
use crate::kernel::procfile;
use crate::rt::message::{Level, say};
use crate::sys::{self, Errno, Result};

const MPOL_BIND: usize = 2;
/// Linux 5.12.
const MPOL_F_NUMA_BALANCING: usize = 1 << 13;

/// Enables NUMA balancing of a range. `why` is the reason for the fallback, for the message.
///
/// # Errors
/// `ENOTSUP` if `kernel.numa_balancing` is off or the kernel has no such policy.
pub(super) fn ask(range: &Range<usize>, why: &str) -> Result<()> {
    let is_on = procfile::number(c"/proc/sys/kernel/numa_balancing").is_some_and(|on| on & 1 != 0);
    let all = nodes::all();
    let mode = MPOL_BIND | MPOL_F_NUMA_BALANCING;
    let mut any = false;
    if is_on {
        ranges::each(range, |part, _| {
            let mask = all.as_ptr() as usize;
            // SAFETY: the mask has that many bits.
            let result = unsafe { sys::mbind(part.start, part.len(), mode, mask, 1024, 0) };
            any |= result.is_ok();
        });
    }
    if !any {
        say(
            Level::Warning,
            format_args!(
                "next touch: no pages will move, since {why} and kernel.numa_balancing is off or \
                 unsupported"
            ),
        );
        return Err(Errno(libc::ENOTSUP));
    }
    say(
        Level::Info,
        format_args!("next touch: uses the kernel's NUMA balancing, since {why}"),
    );
    Ok(())
}
