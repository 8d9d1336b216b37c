//! Memory policies, and the nodes that pages lie on.
#![expect(unsafe_code, reason = "takes addresses and fills buffers")]

use core::ffi::c_int;

use super::call::{Result, ask, call};
use crate::sys::cast::extended;

const BITS: usize = usize::BITS as usize;

/// A set of memory nodes: as many as a kernel may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Nodes([usize; 16]);

impl Nodes {
    /// None.
    pub const NONE: Nodes = Nodes([0; 16]);

    /// The length of the set in bits, as system calls take it.
    const MAX: usize = 16 * BITS;

    /// One node, or none where there is no such number.
    pub fn one(node: usize) -> Nodes {
        let mut nodes = Nodes::NONE;
        if let Some(word) = nodes.0.get_mut(node / BITS) {
            *word = 1 << (node % BITS);
        }
        nodes
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether a node is a member.
    pub fn contains(&self, node: usize) -> bool {
        let word = self.0.get(node / BITS);
        word.is_some_and(|word| word >> (node % BITS) & 1 == 1)
    }

    /// The members, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        let all = *self;
        (0..Nodes::MAX).filter(move |node| all.contains(*node))
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

    /// Rather on this node than on others.
    pub fn prefer(node: usize) -> Policy {
        Policy {
            mode: libc::MPOL_PREFERRED,
            nodes: Nodes::one(node),
        }
    }

    /// Makes it the policy of this thread.
    pub fn set_for_thread(&self) -> Result<()> {
        let (mask, max) = self.mask();
        let args = [extended(self.mode), mask, max, 0, 0, 0];
        ask(libc::SYS_set_mempolicy, args).map(drop)
    }

    /// The nodes as system calls take them: where they are, and how many bits.
    fn mask(&self) -> (usize, usize) {
        match self.nodes == Nodes::NONE {
            true => (0, 0),
            // The kernel takes one bit less than it is told.
            false => (self.nodes.0.as_ptr() as usize, Nodes::MAX + 1),
        }
    }

    /// Makes it the policy of a range of memory, whose pages stay where they
    /// are.
    ///
    /// # Safety
    /// The range must be the caller's, and be whole pages of what is mapped.
    pub unsafe fn set(&self, addr: usize, len: usize) -> Result<()> {
        let (mask, max) = self.mask();
        // SAFETY: as the caller says; the mask is as long as it is said to be.
        unsafe { mbind(addr, len, extended(self.mode), mask, max, 0) }
    }
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

/// The node of the page that holds an address. A page that is not there yet
/// comes by that, as by reading it.
pub fn node_of(addr: usize) -> Result<c_int> {
    const NODE: usize = 1;
    const ADDR: usize = 2;
    get_mempolicy(addr, NODE | ADDR).map(|policy| policy.mode)
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
    fn sets_of_nodes() {
        let node = Nodes::one(130);
        assert_eq!((node.count(), node.iter().next()), (1, Some(130)));
        assert_eq!(Nodes::one(5000), Nodes::NONE);
        let all = Nodes([0b101, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(all.iter().collect::<Vec<_>>(), [0, 2, 64]);
        assert!(all.contains(2) && !all.contains(1) && !all.contains(9999));
    }

    #[test]
    fn the_policy_of_a_thread_can_be_put_back() {
        let before = thread_policy().unwrap();
        let node = allowed_nodes().unwrap().iter().next().unwrap();
        Policy::prefer(node).set_for_thread().unwrap();
        assert_eq!(thread_policy(), Ok(Policy::prefer(node)));
        before.set_for_thread().unwrap();
        assert_eq!(thread_policy(), Ok(before));
    }

    #[test]
    fn the_policy_of_memory_is_kept_by_the_kernel() {
        let (len, prot) = (1 << 16, libc::PROT_READ | libc::PROT_WRITE);
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new mapping.
        let addr = unsafe { crate::sys::mmap(0, len, prot, flags, -1, 0) }.unwrap();
        assert_eq!(policy_of(addr), Ok(Policy::DEFAULT));
        let node = allowed_nodes().unwrap().iter().next().unwrap();
        // SAFETY: the test's own memory.
        unsafe { Policy::prefer(node).set(addr, len) }.unwrap();
        assert_eq!(policy_of(addr), Ok(Policy::prefer(node)));
        // SAFETY: the test's own memory.
        unsafe { (addr as *mut u8).write(1) };
        assert_eq!(node_of(addr).map(usize::try_from), Ok(Ok(node)));
        // SAFETY: the test's own memory.
        unsafe { Policy::DEFAULT.set(addr, len) }.unwrap();
        assert_eq!(policy_of(addr), Ok(Policy::DEFAULT));
    }
}
