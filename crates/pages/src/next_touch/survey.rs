//! Whether moving pays: not if all pages are on the node where all threads run.

use core::ffi::c_int;
use core::ops::Range;

use super::nodes::{self, Nodes};
use crate::sys::{self, Dir};

/// Number of pages to query.
const SAMPLES: usize = 256;

/// Whether sampled pages and all threads except one are on the same node; `false` if unknown.
pub(super) fn is_local(range: &Range<usize>, except: u32) -> bool {
    let node = common_node_of_pages(range);
    node.is_some() && node == common_node_of_threads(except)
}

fn common_node_of_pages(range: &Range<usize>) -> Option<u32> {
    let page = sys::page_size();
    let step = (range.len() / SAMPLES).next_multiple_of(page).max(page);
    let mut pages = [range.start; SAMPLES];
    let mut count = 0;
    for (place, at) in pages.iter_mut().zip(range.clone().step_by(step)) {
        *place = at;
        count += 1;
    }
    let mut nodes = [c_int::MIN; SAMPLES];
    sys::page_nodes(&pages[..count], &mut nodes).ok()?;
    // A negative node is an error: the page isn't in memory.
    let mut present = nodes[..count]
        .iter()
        .filter_map(|node| u32::try_from(*node).ok());
    let first = present.next()?;
    present.all(|node| node == first).then_some(first)
}

fn common_node_of_threads(except: u32) -> Option<u32> {
    let table = Nodes::read();
    let mut common_node = None;
    let mut differ = false;
    let dir = Dir::open(c"/proc/self/task").ok()?;
    dir.each(|name| {
        let name = name.to_str().unwrap_or_default();
        let thread = name.parse().ok().filter(|thread| *thread != except);
        let Some(thread) = thread else {
            return;
        };
        let node = nodes::stat_of(thread).and_then(|stat| table.of_thread(&stat));
        differ |= node.is_none() || common_node.is_some() && common_node != node;
        common_node = node;
    });
    common_node.filter(|_| !differ)
}
