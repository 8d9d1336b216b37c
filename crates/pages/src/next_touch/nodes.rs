//! Nodes of CPUs, threads and pages.

use core::ffi::c_int;

use hugetools_kernfs::list;
use hugetools_kernfs::stat::Stat;

use crate::kernel::procfile;
use crate::rt::path::Path;
use crate::sys::{self, File};

/// CPUs in the table; the node of a thread on another CPU is unknown.
const CPUS: usize = 4096;

const NONE: u16 = u16::MAX;

/// The node of each CPU, or `NONE`.
#[derive(Debug)]
pub(super) struct Nodes([u16; CPUS]);

fn each(mut visit: impl FnMut(u32)) {
    let mut buffer = [0; 1024];
    let text = procfile::head(c"/sys/devices/system/node/online", &mut buffer);
    list::members(text).flatten().for_each(&mut visit);
}

pub(super) fn are_many() -> bool {
    let mut count = 0;
    each(|_| count += 1);
    count > 1
}

/// A node mask for `mbind(2)`.
pub(super) type Mask = [u64; 16];

pub(super) fn all() -> Mask {
    let mut mask = Mask::default();
    each(|node| put(&mut mask, node));
    mask
}

pub(super) fn put(mask: &mut Mask, node: u32) {
    if let Some(word) = mask.get_mut(node as usize / 64) {
        *word |= 1 << (node % 64);
    }
}

impl Nodes {
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

    /// The node where a thread last ran, by its `stat` file; `None` if unknown.
    pub(super) fn of_thread(&self, stat: &File) -> Option<u32> {
        let mut buffer = [0; 1024];
        let len = stat.read_at(&mut buffer, 0).ok()?;
        let cpu = Stat::parse(&buffer[..len])?.processor()?;
        let node = *self.0.get(cpu as usize)?;
        (node != NONE).then_some(u32::from(node))
    }
}

/// Opens the `stat` file of a thread of this process.
pub(super) fn stat_of(thread: u32) -> Option<File> {
    let path = Path::of(format_args!("/proc/self/task/{thread}/stat"))?;
    File::open(path.c_str(), libc::O_RDONLY).ok()
}

/// The last thread that faulted, and its `stat` file: mostly the same thread faults next.
#[derive(Debug, Default)]
pub(super) struct FaultingThread(Option<(u32, File)>);

impl FaultingThread {
    pub(super) fn node(&mut self, thread: u32, nodes: &Nodes) -> Option<u32> {
        if self.0.as_ref().is_none_or(|(last, _)| *last != thread) {
            self.0 = Some((thread, stat_of(thread)?));
        }
        let (_, stat) = self.0.as_ref()?;
        let node = nodes.of_thread(stat);
        if node.is_none() {
            // The thread may have ended and its ID be reused.
            self.0 = None;
        }
        node
    }
}

/// The node of a page; `None` if it isn't in memory.
pub(super) fn of_page(page: usize) -> Option<u32> {
    let mut node = [c_int::MIN];
    sys::page_nodes(&[page], &mut node).ok()?;
    u32::try_from(node[0]).ok()
}
