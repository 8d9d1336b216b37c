//! Page frames and their nodes.

use std::collections::{BTreeMap, BTreeSet};

use hugetools_model::hugetlb::node;
use hugetools_model::{FileError, KPath, Root};

use crate::who::Nodes;

/// Identifies a page: by its frame if the kernel shows it, else by a substitute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Page {
    /// The first frame of the page.
    Frame(u64),
    /// A page of one process: pid and address.
    Own(u32, u64),
    /// A page that processes share since a fork: inode and address of the mapping.
    Inherited(u64, u64),
}

pub(super) type Frames = BTreeSet<Page>;

/// The node of each memory block.
#[derive(Debug)]
pub(super) struct Memory {
    /// The only node, if there is just one.
    only: Option<u32>,
    /// Bytes of a memory block.
    block: u64,
    /// The node of each memory block, by its number.
    nodes: BTreeMap<u64, u32>,
}

impl Memory {
    pub(super) fn read(root: &Root) -> Result<Memory, FileError> {
        let nodes = node::read(root)?;
        let mut memory = Memory {
            only: match nodes.as_slice() {
                [] => Some(0),
                [node] => Some(node.id.get()),
                _ => None,
            },
            block: 0,
            nodes: BTreeMap::new(),
        };
        if memory.only.is_some() {
            return Ok(memory);
        }
        let size = root.read_opt(&KPath::from("/sys/devices/system/memory/block_size_bytes"))?;
        let size = String::from_utf8_lossy(&size.unwrap_or_default()).into_owned();
        memory.block = u64::from_str_radix(size.trim(), 16).unwrap_or(0);
        for node in nodes {
            let id = node.id.get();
            let dir = KPath::from("/sys/devices/system/node").join(format_args!("node{id}"));
            for name in root.list(&dir)? {
                let number = name.to_str().and_then(|name| name.strip_prefix("memory"));
                if let Some(block) = number.and_then(|number| number.parse().ok()) {
                    memory.nodes.insert(block, id);
                }
            }
        }
        Ok(memory)
    }

    fn node(&self, page: Page) -> Option<u32> {
        match page {
            _ if self.only.is_some() => self.only,
            Page::Frame(frame) if self.block > 0 => {
                let block = frame.saturating_mul(page_size()) / self.block;
                self.nodes.get(&block).copied()
            }
            _ => None,
        }
    }

    /// Counts pages by node.
    pub(super) fn nodes<'p>(&self, pages: impl IntoIterator<Item = &'p Page>) -> Nodes {
        let mut nodes = Nodes::new();
        for node in pages.into_iter().filter_map(|page| self.node(*page)) {
            *nodes.entry(node).or_default() += 1;
        }
        nodes
    }
}

/// Bytes of a base page, the unit of frames and of `/proc/PID/pagemap`.
pub(super) fn page_size() -> u64 {
    let size = nix::unistd::sysconf(nix::unistd::SysconfVar::PAGE_SIZE);
    let size = size
        .ok()
        .flatten()
        .and_then(|size| u64::try_from(size).ok());
    size.unwrap_or(4096)
}
