//! Samples the memory of a program and its children while it runs.

use hugetools_model::process::Pid;
use hugetools_model::{Root, keyed};

/// Fields of `smaps_rollup` that count memory on huge pages.
const HUGE: [&[u8]; 5] = [
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
    /// Returns the share on huge pages, in percent.
    pub(crate) fn share(&self) -> f64 {
        percent(self.huge, self.resident)
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

/// Returns a part in percent; 0 if `all` is 0.
fn percent(part: u64, all: u64) -> f64 {
    let tenths = u128::from(part) * 1000 / u128::from(all.max(1));
    f64::from(u32::try_from(tenths).unwrap_or(u32::MAX)) / 10.0
}

#[derive(Debug)]
pub(crate) struct Sampler<'r> {
    root: &'r Root,
    pid: Option<Pid>,
    pub(crate) memory: Memory,
}

impl Sampler<'_> {
    pub(crate) fn new(root: &Root, pid: u32) -> Sampler<'_> {
        Sampler {
            root,
            pid: Pid::new(pid),
            memory: Memory::default(),
        }
    }

    /// Takes a sample, without processes that end meanwhile.
    pub(crate) fn take(&mut self) {
        let Some(pid) = self.pid else { return };
        let now = tree_memory(self.root, pid);
        if now.resident >= self.memory.resident {
            (self.memory.resident, self.memory.huge) = (now.resident, now.huge);
        }
        self.memory.peak = self.memory.peak.max(now.peak + now.shared_pool);
        self.memory.tables = self.memory.tables.max(now.tables);
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
        huge: sum(&HUGE),
    })
}
