//! Memory policies, and the nodes that pages lie on.
#![expect(unsafe_code, reason = "takes addresses and fills buffers")]

use core::ffi::c_int;

use super::call::{Result, ask, call};
const BITS: usize = usize::BITS as usize;

/// A set of memory nodes: as many as a kernel may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nodes([usize; 16]);

impl Nodes {
    /// None.
    pub const NONE: Nodes = Nodes([0; 16]);

    /// The length of the set in bits, as system calls take it.
    const MAX: usize = 16 * BITS;

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }
}

/// A memory policy: its mode, with flags, and its nodes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// `MPOL_BIND` and so on, with `MPOL_F_STATIC_NODES` and so on.
    pub mode: c_int,
    /// The nodes; none for some modes.
    pub nodes: Nodes,
}

impl Policy {
    /// None of its own: that of the thread holds.
    pub const DEFAULT: Policy = Policy {
        mode: libc::MPOL_DEFAULT,
        nodes: Nodes::NONE,
    };
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

/// The memory policy of this thread.
pub fn thread_policy() -> Result<Policy> {
    get_mempolicy(0, 0)
}

/// The policy of the mapping that holds an address; the default one where it
/// has none of its own.
pub fn policy_of(addr: usize) -> Result<Policy> {
    const ADDR: usize = 2;
    get_mempolicy(addr, ADDR)
}

/// The nodes that this thread may have memory of.
pub fn allowed_nodes() -> Result<Nodes> {
    const MEMS_ALLOWED: usize = 4;
    get_mempolicy(0, MEMS_ALLOWED).map(|policy| policy.nodes)
}

fn get_mempolicy(addr: usize, flags: usize) -> Result<Policy> {
    let mut policy = Policy::DEFAULT;
    let mode = (&raw mut policy.mode) as usize;
    let mask = policy.nodes.0.as_mut_ptr() as usize;
    let args = [mode, mask, Nodes::MAX, addr, flags, 0];
    ask(libc::SYS_get_mempolicy, args)?;
    Ok(policy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_counted() {
        let all = Nodes([0b101, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!((all.count(), Nodes::NONE.count()), (3, 0));
        assert!(allowed_nodes().unwrap().count() > 0);
    }

    #[test]
    fn the_policy_of_memory_is_kept_by_the_kernel() {
        let (len, prot) = (1 << 16, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        let addr = unsafe { crate::sys::mmap(0, len, prot, flags, -1, 0) }.unwrap();
        assert_eq!(policy_of(addr), Ok(Policy::DEFAULT));
        let local = usize::try_from(libc::MPOL_LOCAL).unwrap();
        // SAFETY: the test's own memory, and no mask.
        unsafe { mbind(addr, len, local, 0, 0, 0) }.unwrap();
        assert_ne!(policy_of(addr), Ok(Policy::DEFAULT));
    }
}
