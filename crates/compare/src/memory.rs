//! Samples the memory of a program and its children while it runs.

use hugetools_model::process::Pid;
use hugetools_model::{Root, keyed};

/// Fields of `smaps_rollup` that count memory on huge pages.
const HUGE_FIELDS: [&[u8]; 5] = [
    b"AnonHugePages:",
    b"ShmemPmdMapped:",
    b"FilePmdMapped:",
    b"Private_Hugetlb:",
    b"Shared_Hugetlb:",
];

/// Memory of a program and its children, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The peak, with pool pages. Shared memory counts once.
    pub(crate) peak: u64,
    /// Shared pool memory of the process that has most.
    shared_pool: u64,
    /// The peak of the page tables.
    pub(crate) tables: u64,
    /// Resident memory of the largest sample. Shared memory counts for each process.
    pub(crate) resident: u64,
    /// Memory on huge pages in that sample.
    pub(crate) huge: u64,
}

impl Memory {
    /// Returns the share on huge pages, in percent, rounded down: 100 means all.
    pub(crate) fn share(&self) -> u64 {
        self.huge.saturating_mul(100) / self.resident.max(1)
    }

    /// Adds a sample of a process tree, without processes that end meanwhile.
    pub(crate) fn sample(&mut self, root: &Root, pid: u32) {
        let Some(pid) = Pid::new(pid) else { return };
        let now = tree_memory(root, pid);
        if now.resident >= self.resident {
            (self.resident, self.huge) = (now.resident, now.huge);
        }
        self.peak = self.peak.max(now.peak + now.shared_pool);
        self.tables = self.tables.max(now.tables);
    }

    fn plus(self, other: Memory) -> Memory {
        Memory {
            peak: self.peak + other.peak,
            shared_pool: self.shared_pool.max(other.shared_pool),
            tables: self.tables + other.tables,
            resident: self.resident + other.resident,
            huge: self.huge + other.huge,
        }
    }
}

fn tree_memory(root: &Root, pid: Pid) -> Memory {
    let mut sum = process_memory(root, pid).unwrap_or_default();
    let tasks = pid.path("task");
    // Each thread has children of its own.
    for thread in root.list(&tasks).unwrap_or_default() {
        let children = tasks.join(thread.to_string_lossy()).join("children");
        let text = root.read(&children).unwrap_or_default();
        let words = text.split(|byte| *byte == b' ');
        let pids = words.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok());
        for child in pids.filter_map(Pid::new) {
            sum = sum.plus(tree_memory(root, child));
        }
    }
    sum
}

fn process_memory(root: &Root, pid: Pid) -> Option<Memory> {
    let rollup = root.read(&pid.path("smaps_rollup")).ok()?;
    let status = root.read(&pid.path("status")).ok()?;
    let bytes = |text: &[u8], name: &[u8]| keyed::number(text, name).unwrap_or(0) << 10;
    let sum = |names: &[&[u8]]| names.iter().map(|name| bytes(&rollup, name)).sum::<u64>();
    let own_pool = bytes(&rollup, b"Private_Hugetlb:");
    let shared_pool = bytes(&rollup, b"Shared_Hugetlb:");
    Some(Memory {
        // Pss excludes pool pages.
        peak: bytes(&rollup, b"Pss:") + own_pool,
        shared_pool,
        tables: bytes(&status, b"VmPTE:"),
        resident: bytes(&rollup, b"Rss:") + own_pool + shared_pool,
        huge: sum(&HUGE_FIELDS),
    })
}
