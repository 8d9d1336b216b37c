//! What the kernel tells of the machine without a file.
#![expect(unsafe_code, reason = "reads what the kernel has filled")]

use core::mem::MaybeUninit;

use super::call::ask;

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

    #[test]
    fn some_memory_is_free() {
        let free = free_memory().unwrap();
        assert!(0 < free && Some(free) < crate::facts::total_memory());
    }
}
