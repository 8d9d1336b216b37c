//! Chooses the huge pages to collapse, and their order. A pure function.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

use super::memory::{Memory, Unit};
use super::reason::Reason;
use super::room::Room;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) range: Range<u64>,
    pub(super) present: u64,
}

impl Step {
    pub(super) fn size(&self) -> u64 {
        self.range.end - self.range.start
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Plan {
    /// Sorted by the number of resident quarters, fullest first: these add the least memory. Then
    /// by address, so that one call can collapse neighbours.
    pub(super) steps: Vec<Step>,
    /// Why other units are not collapsed, by address.
    pub(super) left: BTreeMap<u64, Reason>,
}

/// Plans the units without an obstacle that are at least `touched` percent resident and whose
/// growth fits into `room`.
pub(super) fn plan(memory: &Memory, room: &Room, touched: u8) -> Plan {
    let mut plan = Plan::default();
    let mut wanted = Vec::new();
    let size = memory.size;
    let areas = memory.areas.iter().filter(|area| area.base() > 0);
    for unit in areas.flat_map(|area| &area.units) {
        let obstacle = unit.obstacle.map(Reason::Obstacle);
        match obstacle.or_else(|| sparse(unit, size, touched)) {
            Some(reason) => _ = plan.left.insert(unit.start, reason),
            None => wanted.push(unit),
        }
    }
    wanted.sort_by_key(|unit| {
        let quarters = unit.present.saturating_mul(4) / size.max(1);
        (Reverse(quarters), unit.start)
    });
    let mut room = room.clone();
    for unit in wanted {
        let growth = size.saturating_sub(unit.present);
        if !room.holds(size, growth) {
            let reason = Reason::NoRoom(room.reason.clone());
            plan.left.insert(unit.start, reason);
            continue;
        }
        room.growth = room.growth.saturating_sub(growth);
        plan.steps.push(Step {
            range: unit.start..unit.start + size,
            present: unit.present,
        });
    }
    plan
}

fn sparse(unit: &Unit, size: u64, percent: u8) -> Option<Reason> {
    let touched = u128::from(unit.present) * 100;
    (touched < u128::from(size) * u128::from(percent)).then_some(Reason::Sparse(percent))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adopt::memory::{Area, Huge};
    use hugetools_contract::segment::Segment;
    use proptest::prelude::*;

    const MB: u64 = 1 << 20;
    const SIZE: u64 = 2 * MB;
    const AMPLE: u64 = 1 << 40;

    /// Plans a process with these resident bytes in each unit.
    fn planned(present: &[u64], free: u64, growth: u64, touched: u8) -> Plan {
        let units = (0..).zip(present).map(|(index, present)| Unit {
            start: index * SIZE,
            present: *present,
            obstacle: None,
        });
        let memory = Memory {
            exe: Vec::new(),
            name: Vec::new(),
            size: SIZE,
            areas: vec![Area {
                segment: Segment::Anon,
                resident: present.iter().sum(),
                huge: Huge::new(),
                units: units.collect(),
            }],
        };
        let room = Room {
            free,
            growth,
            reason: "full".into(),
        };
        plan(&memory, &room, touched)
    }

    #[test]
    fn units_are_ordered_and_limited_by_room_and_share() {
        let ample = AMPLE;
        for (present, free, growth, touched, wanted) in [
            (&[MB, SIZE, 4096, SIZE], ample, ample, 0, &[1, 3, 0, 2][..]),
            // Room for one huge page during the copy, and for 1 MB of growth.
            (&[SIZE, MB, MB, 4096], 3 * MB, 3 * MB, 0, &[0, 1]),
            (&[SIZE, MB, MB, 4096], SIZE, 0, 0, &[0]),
            (&[SIZE, MB, MB, 4096], SIZE - 1, SIZE - 1, 0, &[]),
            (&[4096, MB - 4096, MB, SIZE], ample, ample, 50, &[3, 2]),
            (&[4096, MB - 4096, MB, SIZE], ample, ample, 100, &[3]),
        ] {
            let plan = planned(present, free, growth, touched);
            let steps = plan.steps.iter().map(|step| step.range.start / SIZE);
            assert_eq!(steps.collect::<Vec<u64>>(), wanted);
            assert_eq!(plan.left.len(), 4 - wanted.len());
        }
    }

    proptest! {
        #[test]
        fn each_unit_is_planned_or_left_within_the_room(
            pages in prop::collection::vec(1..=512u64, 0..40),
            room in 0..64 * MB,
        ) {
            let present: Vec<u64> = pages.iter().map(|pages| pages * 4096).collect();
            let plan = planned(&present, room, room, 0);
            prop_assert_eq!(plan.steps.len() + plan.left.len(), present.len());
            let growth: u64 = plan.steps.iter().map(|step| SIZE - step.present).sum();
            prop_assert!(plan.steps.is_empty() || growth + SIZE <= room);
        }
    }
}
