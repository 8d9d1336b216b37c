//! Nodes of CPUs and threads.

use hugetools_kernfs::list;
use hugetools_kernfs::stat::Stat;

use crate::kernel::procfile;
use crate::rt::path::Path;

/// Number of CPUs in the table; the node of a thread on a CPU beyond it is unknown.
const CPUS: usize = 4096;

const NONE: u16 = u16::MAX;

/// The node of each CPU, or `NONE`.
#[derive(Debug)]
pub(super) struct Nodes([u16; CPUS]);

fn for_each_online(mut visit: impl FnMut(u32)) {
    let mut buffer = [0; 1024];
    let text = procfile::head(c"/sys/devices/system/node/online", &mut buffer);
    list::members(text).flatten().for_each(&mut visit);
}

/// Whether the machine has several online nodes.
pub(super) fn are_several() -> bool {
    let mut count = 0;
    for_each_online(|_| count += 1);
    count > 1
}

impl Nodes {
    pub(super) fn read() -> Nodes {
        let mut nodes = Nodes([NONE; CPUS]);
        for_each_online(|node| nodes.read_node(node));
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

    /// The node where a thread of this process last ran; `None` if unknown.
    pub(super) fn of_thread(&self, thread: u32) -> Option<u32> {
        let path = Path::of(format_args!("/proc/self/task/{thread}/stat"))?;
        let mut buffer = [0; 1024];
        let stat = procfile::head(path.c_str(), &mut buffer);
        let cpu = Stat::parse(stat)?.processor()?;
        let node = *self.0.get(cpu as usize)?;
        (node != NONE).then_some(u32::from(node))
    }
}
