use super::*;
use crate::adopt::memory::Huge;
use crate::adopt::pagemap::Touched;
use hugetools_contract::segment::Segment;
use proptest::prelude::*;

const MB: u64 = 1 << 20;
const SIZE: u64 = 2 * MB;

fn unit(index: u64, present: u64) -> Unit {
    Unit {
        start: index * SIZE,
        touched: Touched {
            present,
            ..Touched::default()
        },
        huge: Some(false),
    }
}

fn area(units: Vec<Unit>) -> Area {
    Area {
        segment: Segment::Anon,
        resident: units.iter().map(|unit| unit.touched.present).sum(),
        used: 8,
        huge: Huge::new(),
        obstacle: None,
        is_common: false,
        units,
        edges: 0,
    }
}

fn room(bytes: u64) -> Room {
    Room {
        bytes,
        growth: bytes,
        reason: Reason::Machine,
    }
}

fn starts(plan: &Plan) -> Vec<u64> {
    let steps = plan.steps.iter();
    steps.map(|step| step.range.start / SIZE).collect()
}

#[test]
fn what_holds_most_comes_first() {
    let units = vec![unit(1, MB), unit(2, SIZE), unit(3, 4096), unit(4, SIZE)];
    let made = plan(&[area(units)], SIZE, &room(1 << 40), 0);
    assert_eq!(starts(&made), [2, 4, 1, 3]);
    assert_eq!(made.bytes(), 2 * SIZE + MB + 4096);
    assert!(made.left.is_empty());
}

#[test]
fn what_is_used_most_comes_first() {
    let of = |segment, used, units| Area {
        segment,
        used,
        ..area(units)
    };
    let all = [
        of(Segment::Text, 8, vec![unit(1, SIZE)]),
        of(Segment::Anon, 1, vec![unit(2, SIZE)]),
        of(Segment::Anon, 8, vec![unit(3, SIZE), unit(4, 4096)]),
        of(Segment::Anon, 8, vec![unit(5, SIZE), unit(6, SIZE)]),
        of(Segment::Heap, 8, vec![unit(7, SIZE), unit(8, MB)]),
    ];
    let made = plan(&all, SIZE, &room(1 << 40), 0);
    assert_eq!(starts(&made), [7, 5, 6, 3, 1, 2, 8, 4]);
}

#[test]
fn what_would_be_added_must_have_room() {
    let units = || vec![unit(1, SIZE), unit(2, MB), unit(3, MB), unit(4, 4096)];
    // A page for the moment, and a megabyte.
    let made = plan(&[area(units())], SIZE, &room(3 * MB), 0);
    assert_eq!(starts(&made), [1, 2]);
    assert_eq!(made.left.get(&(3 * SIZE)), Some(&Reason::Machine));
    assert_eq!(made.left.get(&(4 * SIZE)), Some(&Reason::Machine));
    // Not even that for the moment.
    let made = plan(&[area(units())], SIZE, &room(SIZE - 1), 0);
    assert_eq!((made.steps.len(), made.left.len()), (0, 4));
}

#[test]
fn a_full_group_takes_what_adds_nothing() {
    let room = Room {
        growth: 0,
        ..room(SIZE)
    };
    let made = plan(&[area(vec![unit(1, SIZE), unit(2, MB)])], SIZE, &room, 50);
    assert_eq!(starts(&made), [1]);
    assert_eq!(made.left.get(&(2 * SIZE)), Some(&Reason::Machine));
}

#[test]
fn what_is_hardly_touched_is_left() {
    let units = || {
        vec![
            unit(1, 4096),
            unit(2, MB - 4096),
            unit(3, MB),
            unit(4, SIZE),
        ]
    };
    let made = plan(&[area(units())], SIZE, &room(1 << 40), 50);
    assert_eq!(starts(&made), [4, 3]);
    let left: Vec<_> = made.left.into_iter().collect();
    assert_eq!(
        left,
        [(SIZE, Reason::Sparse(50)), (2 * SIZE, Reason::Sparse(50))]
    );
    let made = plan(&[area(units())], SIZE, &room(1 << 40), 1);
    assert_eq!(starts(&made), [4, 3, 2]);
    let made = plan(&[area(units())], SIZE, &room(1 << 40), 100);
    assert_eq!(starts(&made), [4]);
}

#[test]
fn what_cannot_be_is_left_with_its_reason() {
    let mut swapped = unit(1, MB);
    swapped.touched.swapped = 4096;
    let mut forked = unit(2, SIZE);
    forked.touched.common = SIZE;
    let mut huge = unit(3, SIZE);
    huge.huge = Some(true);
    let mut common = area(vec![swapped, forked.clone(), huge, unit(4, SIZE)]);
    common.is_common = true;
    // Pages of zeros are common as well, but smaps does not count them so.
    forked.start = 9 * SIZE;
    let zeros = area(vec![forked]);
    let mut declined = area(vec![unit(7, SIZE)]);
    declined.obstacle = Some(Reason::Declined);
    let made = plan(&[common, zeros, declined], SIZE, &room(1 << 40), 0);
    assert_eq!(starts(&made), [4, 9]);
    let left: Vec<_> = made.left.into_iter().collect();
    let wanted = [
        (SIZE, Reason::Swapped),
        (2 * SIZE, Reason::Forked),
        (7 * SIZE, Reason::Declined),
    ];
    assert_eq!(left, wanted);
}

proptest! {
    /// Each page once, planned or left; never more memory than there is room for.
    #[test]
    fn nothing_is_lost_and_nothing_overdrawn(
        touched in prop::collection::vec(1..=512u64, 0..40),
        space in 0..64 * MB,
    ) {
        let units = touched.iter().zip(0..);
        let units: Vec<Unit> = units.map(|(pages, at)| unit(at, pages * 4096)).collect();
        let count = units.len();
        let made = plan(&[area(units)], SIZE, &room(space), 0);
        prop_assert_eq!(made.steps.len() + made.left.len(), count);
        let growth: u64 = made.steps.iter().map(|step| SIZE - step.bytes).sum();
        prop_assert!(made.steps.is_empty() || growth + SIZE <= space);
    }
}
