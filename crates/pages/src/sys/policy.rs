//! Memory policies, and the nodes that this process may have memory of.
#![expect(unsafe_code, reason = "takes addresses")]

use core::ffi::c_int;

use super::call::{Result, ask, call};

/// A set of memory nodes: as many as a kernel may have.
type Nodes = [usize; 16];

/// The length of the set in bits, as system calls take it.
const MAX: usize = 16 * usize::BITS as usize;

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

/// The mode of this thread's memory policy.
pub fn thread_policy() -> Result<c_int> {
    get_mempolicy(0).map(|(mode, _)| mode)
}

/// How many nodes this thread may have memory of.
pub fn allowed_nodes() -> Result<usize> {
    const MEMS_ALLOWED: usize = 4;
    let (_, nodes) = get_mempolicy(MEMS_ALLOWED)?;
    Ok(nodes.iter().map(|word| word.count_ones() as usize).sum())
}

fn get_mempolicy(flags: usize) -> Result<(c_int, Nodes)> {
    let (mut mode, mut nodes) = (0, Nodes::default());
    let (mode_at, mask) = ((&raw mut mode) as usize, nodes.as_mut_ptr() as usize);
    ask(libc::SYS_get_mempolicy, [mode_at, mask, MAX, 0, flags, 0])?;
    Ok((mode, nodes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_may_have_memory() {
        assert!(allowed_nodes().unwrap() > 0);
        assert!(thread_policy().is_ok());
    }
}
