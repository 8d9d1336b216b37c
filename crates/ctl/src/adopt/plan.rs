//! Which huge pages are put together, in which order: a pure function of what was
//! found.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use hugetools_contract::segment::Segment;

use super::memory::{Area, Unit};
use super::reason::Reason;

/// How much memory is left, and what sets the limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Room {
    /// Bytes that are free at the moment.
    pub(super) bytes: u64,
    /// Bytes by which the process may grow: less, so that it can go on afterwards.
    pub(super) growth: u64,
    /// Why not more.
    pub(super) reason: Reason,
}

impl Room {
    /// Whether a huge page of `size` bytes that adds `growth` bytes has a place. The kernel
    /// needs the new page beside the old ones for a moment.
    pub(super) fn holds(&self, size: u64, growth: u64) -> bool {
        self.bytes >= size && (growth == 0 || self.growth >= size.saturating_add(growth))
    }
}

/// One huge page to be put together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    /// Where.
    pub(super) range: Range<u64>,
    /// Bytes of it that are in memory on base pages.
    pub(super) bytes: u64,
}

impl Step {
    /// Bytes of the huge page.
    pub(super) fn size(&self) -> u64 {
        self.range.end - self.range.start
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Plan {
    /// Huge pages in their order: those that hold most come first, by quarters; of these
    /// those of the memory that is used most, and then those of lower addresses, so that
    /// neighbours can go together.
    pub(super) steps: Vec<Step>,
    /// Why others are left, by their first address.
    pub(super) left: BTreeMap<u64, Reason>,
}

impl Plan {
    /// How many bytes the steps would make huge of what is in memory.
    pub(super) fn bytes(&self) -> u64 {
        self.steps.iter().map(|step| step.bytes).sum()
    }

    /// The same without what has failed before.
    #[must_use]
    pub(super) fn without(mut self, failed: &BTreeMap<u64, Reason>) -> Plan {
        self.steps
            .retain(|step| !failed.contains_key(&step.range.start));
        self
    }
}

/// Makes the plan. What is not touched of a huge page is memory that comes on top: a page
/// needs at least `touched` percent, and all of them together add no more than `room` has.
pub(super) fn plan(areas: &[Area], size: u64, room: &Room, touched: u8) -> Plan {
    let mut plan = Plan::default();
    let mut wanted = Vec::new();
    for area in areas.iter().filter(|area| area.rest() > 0) {
        for unit in area.units.iter().filter(|unit| unit.huge != Some(true)) {
            let reason = area.obstacle.clone();
            let reason = reason.or_else(|| obstacle(area, unit));
            match reason.or_else(|| sparse(unit, size, touched)) {
                Some(reason) => _ = plan.left.insert(unit.start, reason),
                None => wanted.push((use_of(area), unit)),
            }
        }
    }
    wanted.sort_by_key(|(used, unit)| {
        let quarters = unit.touched.present.saturating_mul(4) / size.max(1);
        (Reverse((quarters, *used)), unit.start)
    });
    let mut room = room.clone();
    for (_, unit) in wanted {
        let growth = size.saturating_sub(unit.touched.present);
        if !room.holds(size, growth) {
            plan.left.insert(unit.start, room.reason.clone());
            continue;
        }
        room.growth = room.growth.saturating_sub(growth);
        plan.steps.push(Step {
            range: unit.start..unit.start + size,
            bytes: unit.touched.present,
        });
    }
    plan
}

/// How much a mapping is used, for comparison. The kernel counts whole mappings, as of its
/// last search for pages that are not used, and only some kernels would tell of single
/// pages. Where all were used alike: what a program allocates for itself before what is
/// mapped for it, and large mappings before small ones.
fn use_of(area: &Area) -> (u64, u64, u64) {
    let kind = match area.segment {
        Segment::Heap => 4,
        Segment::Anon => 3,
        Segment::Bss | Segment::Data => 2,
        Segment::Stack | Segment::Shm => 1,
        Segment::Text | Segment::File => 0,
    };
    (area.used, kind, area.resident)
}

/// What keeps one huge page of a mapping from being put together.
fn obstacle(area: &Area, unit: &Unit) -> Option<Reason> {
    if unit.touched.swapped > 0 {
        return Some(Reason::Swapped);
    }
    // Pages of zeros are common, too; but they are none of the resident ones.
    let is_forked = area.is_common && unit.touched.common > unit.touched.present / 2;
    is_forked.then_some(Reason::Forked)
}

/// The reason of a huge page of which too little is touched.
fn sparse(unit: &Unit, size: u64, percent: u8) -> Option<Reason> {
    let touched = u128::from(unit.touched.present) * 100;
    (touched < u128::from(size) * u128::from(percent)).then_some(Reason::Sparse(percent))
}

#[cfg(test)]
mod tests;
