//! Samples the memory of a program and its children while it runs.

use hugetools_model::process::Pid;
use hugetools_model::{Root, keyed};

/// The kernel's names of what lies on huge pages, in `smaps_rollup`.
const HUGE: [&[u8]; 5] = [
    b"AnonHugePages:",
    b"ShmemPmdMapped:",
    b"FilePmdMapped:",
    b"Private_Hugetlb:",
    b"Shared_Hugetlb:",
];
/// Bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    /// The most memory, pages of the pool included. What processes share counts once.
    pub(crate) peak: u64,
    /// Pages of the pool that processes share: those of the process that has most.
    shared_pool: u64,
    /// The largest page tables.
    pub(crate) tables: u64,
    /// Resident at the largest sample; what processes share counts for each.
    pub(crate) resident: u64,
    /// On huge pages then.
    pub(crate) huge: u64,
}

impl Memory {
    /// The share on huge pages, in percent.
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

/// A part in percent; 0 of nothing.
pub(crate) fn percent(part: u64, all: u64) -> f64 {
    let tenths = u128::from(part) * 1000 / u128::from(all.max(1));
    f64::from(u32::try_from(tenths).unwrap_or(u32::MAX)) / 10.0
}

/// Samples a program.
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

    /// Takes a sample. A process that ends meanwhile counts for nothing.
    pub(crate) fn take(&mut self) {
        let Some(pid) = self.pid else { return };
        let now = family(self.root, pid);
        if now.resident >= self.memory.resident {
            (self.memory.resident, self.memory.huge) = (now.resident, now.huge);
        }
        self.memory.peak = self.memory.peak.max(now.peak + now.shared_pool);
        self.memory.tables = self.memory.tables.max(now.tables);
    }
}

fn family(root: &Root, pid: Pid) -> Memory {
    let mut sum = one(root, pid).unwrap_or_default();
    let children = pid.path("task").join(pid).join("children");
    let text = root.read(&children).unwrap_or_default();
    let words = text.split(|byte| *byte == b' ');
    let pids = words.filter_map(|word| std::str::from_utf8(word).ok()?.parse().ok());
    for child in pids.filter_map(Pid::new) {
        sum = sum.plus(family(root, child));
    }
    sum
}

fn one(root: &Root, pid: Pid) -> Option<Memory> {
    let rollup = root.read(&pid.path("smaps_rollup")).ok()?;
    let status = root.read(&pid.path("status")).ok()?;
    let bytes = |text: &[u8], name: &[u8]| keyed::number(text, name).unwrap_or(0) << 10;
    let sum = |names: &[&[u8]]| names.iter().map(|name| bytes(&rollup, name)).sum::<u64>();
    let own_pool = bytes(&rollup, b"Private_Hugetlb:");
    let shared_pool = bytes(&rollup, b"Shared_Hugetlb:");
    Some(Memory {
        // Pss has no pages of the pool.
        peak: bytes(&rollup, b"Pss:") + own_pool,
        shared_pool,
        tables: bytes(&status, b"VmPTE:"),
        resident: bytes(&rollup, b"Rss:") + own_pool + shared_pool,
        huge: sum(&HUGE),
    })
}
