//! The memory of a process at one moment, divided into huge pages.

use std::collections::BTreeMap;
use std::ops::Range;

use hugetools_contract::segment::{Segment, piece, pieces};
use hugetools_model::Root;
use hugetools_model::memory::meminfo::Meminfo;
use hugetools_model::process::{self, Pid};
use hugetools_model::smaps::{Record, records};
use hugetools_model::thp::Thp;

use super::obstacle;
use super::pagemap::{Pagemap, Touched};
use crate::say::failure::Failure;
use crate::status;

/// Bytes on huge pages, by page size.
pub(super) type Huge = BTreeMap<u64, u64>;

/// An aligned range of one huge page with resident bytes. It may be huge already.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) start: u64,
    pub(super) present: u64,
    pub(super) obstacle: Option<&'static str>,
}

/// A mapping, or the piece of one that belongs to one segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Area {
    pub(super) segment: Segment,
    pub(super) resident: u64,
    pub(super) huge: Huge,
    pub(super) units: Vec<Unit>,
}

impl Area {
    /// Bytes on base pages.
    pub(super) fn base(&self) -> u64 {
        self.resident.saturating_sub(self.huge.values().sum())
    }

    /// Resident bytes outside units.
    pub(super) fn edges(&self) -> u64 {
        let units: u64 = self.units.iter().map(|unit| unit.present).sum();
        self.resident.saturating_sub(units)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Memory {
    pub(super) exe: Vec<u8>,
    pub(super) name: Vec<u8>,
    pub(super) size: u64,
    pub(super) areas: Vec<Area>,
}

impl Memory {
    /// Reads the memory of these segments.
    ///
    /// # Errors
    /// The process doesn't exist or may not be inspected, or the kernel has no transparent huge
    /// pages or doesn't tell their size.
    pub(super) fn read(root: &Root, pid: Pid, segments: &[Segment]) -> Result<Memory, Failure> {
        let Some(thp) = Thp::read(root)? else {
            return Err(Failure::Own(
                "the kernel has no transparent huge pages (CONFIG_TRANSPARENT_HUGEPAGE)".to_owned(),
            ));
        };
        let text = status::smaps(root, pid, "smaps")?;
        let mappings: Vec<Record<'_>> = records(&text).collect();
        let exe = status::exe(root, pid);
        let extents = status::extents(root, pid, &exe, &mappings);
        let size = status::pmd_size(root, Some(&thp))?;
        if size == 0 {
            return Err(Failure::Own(
                "the kernel does not tell the size of its huge pages".to_owned(),
            ));
        }
        let is_disabled = process::thp_enabled(root, pid).unwrap_or(None) == Some(false);
        let is_denied = thp.shmem_enabled.as_deref() == Some("deny");
        let meminfo = Meminfo::read(root)?;
        let page = status::base_page(root, &meminfo)?;
        let pagemap = Pagemap::open(root, pid, page);
        let mut areas = Vec::new();
        pieces(
            mappings.iter().copied(),
            &extents,
            |record, range, segment, _| {
                let row = piece(record, range.clone(), size, segment, None);
                if row.resident == 0 || !segments.contains(&segment) {
                    return;
                }
                let huge = row.huge.iter().filter(|huge| huge.bytes > 0);
                let mut area = Area {
                    segment,
                    resident: row.resident,
                    huge: huge.map(|huge| (huge.page_size, huge.bytes)).collect(),
                    units: Vec::new(),
                };
                if record.hugetlb == 0 {
                    let obstacle = obstacle::find(record, segment, is_disabled, is_denied);
                    area.fill(record, &range, size, pagemap.as_ref(), obstacle);
                }
                areas.push(area);
            },
        );
        Ok(Memory {
            name: status::name(root, pid, &exe),
            exe,
            size,
            areas,
        })
    }
}

impl Area {
    /// Collects the units until all resident bytes are found, since a mapping can be far larger.
    fn fill(
        &mut self,
        record: &Record<'_>,
        range: &Range<u64>,
        size: u64,
        pagemap: Option<&Pagemap>,
        obstacle: Option<&'static str>,
    ) {
        // The last unit may reach into the next piece of the mapping.
        let end = range.end.next_multiple_of(size).min(record.end);
        let mut start = range.start.next_multiple_of(size);
        let mut found = 0;
        while start + size <= end && found < self.resident {
            let unit = start..start + size;
            let touched = pagemap.and_then(|pagemap| pagemap.touched(&unit).ok());
            // Without pagemap, assume that the resident pages come first.
            let mut touched = touched.unwrap_or(Touched {
                present: size.min(self.resident - found),
                ..Touched::default()
            });
            if record.shared_pages == 0 {
                // smaps counts no shared pages, so these are the kernel's zero page.
                touched.present -= touched.shared;
                touched.shared = 0;
            }
            found += touched.present;
            if touched.present > 0 {
                self.units.push(Unit {
                    start,
                    present: touched.present,
                    obstacle: obstacle.or_else(|| unit_obstacle(touched)),
                });
            }
            start += size;
        }
    }
}

fn unit_obstacle(touched: Touched) -> Option<&'static str> {
    match touched {
        Touched { swapped: 1.., .. } => Some("a part of it is on swap"),
        Touched {
            present, shared, ..
        } if shared > present / 2 => {
            Some("shared with another process since a fork: it would be copied")
        }
        _ => None,
    }
}
