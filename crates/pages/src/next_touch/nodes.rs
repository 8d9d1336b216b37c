//! Nodes of CPUs, threads and pages.

use core::ffi::c_int;

use hugetools_kernfs::list;
use hugetools_kernfs::stat::Stat;

use crate::kernel::procfile;
use crate::rt::path::Path;
use crate::sys;

/// CPUs in the table; a thread on another one has no known node.
const CPUS: usize = 4096;

/// No node.
const NONE: u16 = u16::MAX;

/// The node of each CPU.
#[derive(Debug)]
pub(super) struct Nodes([u16; CPUS]);

/// Calls `visit` with each node.
fn each(mut visit: impl FnMut(u32)) {
    let mut buffer = [0; 1024];
    let text = procfile::head(c"/sys/devices/system/node/online", &mut buffer);
    list::members(text).flatten().for_each(&mut visit);
}

/// Whether the machine has several nodes.
pub(super) fn are_many() -> bool {
    let mut count = 0;
    each(|_| count += 1);
    count > 1
}

/// A set of nodes for `mbind(2)`.
pub(super) type Mask = [u64; 16];

/// All nodes.
pub(super) fn all() -> Mask {
    let mut mask = Mask::default();
    each(|node| put(&mut mask, node));
    mask
}

/// Adds a node.
pub(super) fn put(mask: &mut Mask, node: u32) {
    if let Some(word) = mask.get_mut(node as usize / 64) {
        *word |= 1 << (node % 64);
    }
}

impl Nodes {
    /// Reads the table.
    pub(super) fn read() -> Nodes {
        let mut nodes = Nodes([NONE; CPUS]);
        each(|node| nodes.read_node(node));
        nodes
    }

    fn read_node(&mut self, node: u32) {
        let path = Path::of(format_args!("/sys/devices/system/node/node{node}/cpulist"));
        let mut buffer = [0; 4096];
        let text = path.map(|path| procfile::head(path.c_str(), &mut buffer));
        for cpu in list::members(text.unwrap_or_default()).flatten() {
            if let Some(place) = self.0.get_mut(cpu as usize) {
                *place = u16::try_from(node).unwrap_or(NONE);
            }
        }
    }

    /// The node that a thread of this process runs on; `None` if unknown.
    pub(super) fn of_thread(&self, thread: &str) -> Option<u32> {
        let path = Path::of(format_args!("/proc/self/task/{thread}/stat"))?;
        let mut buffer = [0; 1024];
        let cpu = Stat::parse(procfile::head(path.c_str(), &mut buffer))?.processor()?;
        let node = *self.0.get(cpu as usize)?;
        (node != NONE).then_some(u32::from(node))
    }
}

/// The node of a page; `None` if it isn't in memory.
pub(super) fn of_page(page: usize) -> Option<u32> {
    let mut node = [c_int::MIN];
    sys::page_nodes(&[page], &mut node).ok()?;
    u32::try_from(node[0]).ok()
}
