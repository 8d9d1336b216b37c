//! The memory of a process that may become huge, as it is at one moment.

use std::collections::BTreeMap;
use std::ops::Range;

use hugetools_contract::segment::{Segment, piece};
use hugetools_model::Root;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::{self, Pid};
use hugetools_model::smaps::Record;
use hugetools_model::thp::Thp;

use super::obstacle::{self, Facts};
use super::pagemap::{Pagemap, Touched};
use super::reason::Reason;
use crate::say::failure::Failure;
use crate::status::{self, Snapshot};

/// Bytes on huge pages, by the size of these.
pub(super) type Huge = BTreeMap<u64, u64>;

/// Where one huge page would lie.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    /// Its first address.
    pub(super) start: u64,
    /// What of it is touched.
    pub(super) touched: Touched,
    /// Whether it is huge already; `None` where the kernel does not tell.
    pub(super) huge: Option<bool>,
}

/// A mapping, or a piece of one that belongs to a segment of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Area {
    /// What it is.
    pub(super) segment: Segment,
    /// Bytes in memory.
    pub(super) resident: u64,
    /// Eighths of its mapping's that were used lately, as far as the kernel has looked.
    pub(super) used: u64,
    /// Bytes on huge pages.
    pub(super) huge: Huge,
    /// What keeps all of it from huge pages.
    pub(super) obstacle: Option<Reason>,
    /// Whether some of its pages are those of other processes, too.
    pub(super) is_common: bool,
    /// The whole huge pages in it of which something is touched.
    pub(super) units: Vec<Unit>,
    /// Bytes in memory that lie in none of them.
    pub(super) edges: u64,
}

impl Area {
    /// Bytes on base pages.
    pub(super) fn rest(&self) -> u64 {
        self.resident.saturating_sub(self.huge.values().sum())
    }
}

/// What is known of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Memory {
    /// The path of its executable.
    pub(super) exe: Vec<u8>,
    /// The name by which it goes.
    pub(super) name: Vec<u8>,
    /// The size of a huge page.
    pub(super) size: u64,
    /// Its memory, of the segments that are asked for.
    pub(super) areas: Vec<Area>,
}

impl Memory {
    /// Whether the kernel tells which memory is huge already.
    pub(super) fn tells_huge(&self) -> bool {
        let mut units = self.areas.iter().flat_map(|area| &area.units);
        units.all(|unit| unit.huge.is_some())
    }

    /// Looks at a process.
    ///
    /// # Errors
    /// When there is no such process, it may not be looked at, or the kernel has no
    /// transparent huge pages.
    pub(super) fn look(root: &Root, pid: Pid, segments: &[Segment]) -> Result<Memory, Failure> {
        let failed = |error: hugetools_model::FileError| Failure::Own(error.to_string());
        let Some(thp) = Thp::read(root).map_err(failed)? else {
            return Err(Failure::Own(
                "the kernel has no transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE)".to_owned(),
            ));
        };
        let snapshot = Snapshot::take(root, pid)?;
        let size = snapshot.pmd_size();
        if size == 0 {
            return Err(Failure::Own(
                "the kernel does not tell the size of its huge pages".to_owned(),
            ));
        }
        let facts = Facts {
            switched_off: process::thp_enabled(root, pid).unwrap_or(None) == Some(false),
            shared: (!thp.serves_shared_madvise())
                .then(|| thp.shmem_enabled.clone().unwrap_or("never".to_owned())),
        };
        let meminfo = Meminfo::read(root).map_err(failed)?;
        let page = status::base_page(root, &meminfo).map_err(failed)?;
        let pagemap = Pagemap::open(root, pid, page);
        let mut areas = Vec::new();
        snapshot.each_piece(|record, range, segment, _| {
            let row = piece(record, range.clone(), size, segment, None);
            if row.resident == 0 || !segments.contains(&segment) {
                return;
            }
            let huge = row.huge.iter().filter(|huge| huge.bytes > 0);
            let mut area = Area {
                segment,
                resident: row.resident,
                used: record.referenced.saturating_mul(8) / record.rss.max(1),
                huge: huge.map(|huge| (huge.page_size, huge.bytes)).collect(),
                obstacle: obstacle::find(record, segment, &facts),
                is_common: record.shared_pages > 0,
                units: Vec::new(),
                edges: 0,
            };
            if record.hugetlb == 0 {
                area.fill(record, &range, size, pagemap.as_ref());
            }
            areas.push(area);
        });
        Ok(Memory {
            exe: snapshot.exe().to_vec(),
            name: snapshot.name().to_vec(),
            size,
            areas,
        })
    }
}

impl Area {
    /// Finds what is touched. Where no whole huge page has a place there is nothing to be
    /// found: a process has hundreds of such mappings.
    fn fill(
        &mut self,
        record: &Record<'_>,
        range: &Range<u64>,
        size: u64,
        pagemap: Option<&Pagemap>,
    ) {
        // The last one may reach into what follows in the same mapping.
        let end = range.end.next_multiple_of(size).min(record.end);
        let all = range.start..end.max(range.end);
        if all.start.next_multiple_of(size) + size > all.end {
            return;
        }
        let read = pagemap.is_some_and(|pagemap| {
            let read = pagemap.blocks(&all, size, self.resident, |block, touched| {
                self.add(&block, range, size, touched);
            });
            read.is_ok()
        });
        if !read {
            (self.units, self.edges) = (Vec::new(), 0);
            self.guess(&all, range, size);
        }
        let Some(huge) = pagemap.and_then(|pagemap| pagemap.huge(&all)) else {
            return;
        };
        for unit in &mut self.units {
            let next = huge.partition_point(|range| range.end <= unit.start);
            let holds = |range: &Range<u64>| range.start <= unit.start;
            unit.huge = Some(huge.get(next).is_some_and(holds));
        }
    }

    fn add(&mut self, block: &Range<u64>, range: &Range<u64>, size: u64, mut touched: Touched) {
        if !self.is_common {
            // No page of it is another process's, so these are the kernel's page of zeros.
            touched.present -= touched.common;
        }
        if block.end - block.start == size {
            self.units.push(Unit {
                start: block.start,
                touched,
                huge: None,
            });
        } else if block.start < range.end {
            self.edges += touched.present;
        }
    }

    /// What is resident lies everywhere alike, as far as is known.
    fn guess(&mut self, all: &Range<u64>, range: &Range<u64>, size: u64) {
        let len = range.end - range.start;
        let mut at = all.start;
        while at < all.end {
            let end = ((at / size + 1) * size).min(all.end);
            let share = u128::from(self.resident) * u128::from(end - at) / u128::from(len);
            let touched = Touched {
                present: u64::try_from(share).unwrap_or(size).min(end - at),
                ..Touched::default()
            };
            self.add(&(at..end), range, size, touched);
            at = end;
        }
    }
}
