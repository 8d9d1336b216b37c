use super::*;
use crate::adopt::memory::Unit;
use crate::adopt::pagemap::Touched;

const MB: u64 = 1 << 20;
const SIZE: u64 = 2 * MB;

fn unit(index: u64, present: u64, huge: Option<bool>) -> Unit {
    Unit {
        start: index * SIZE,
        touched: Touched {
            present,
            ..Touched::default()
        },
        huge,
    }
}

fn memory(units: Vec<Unit>, huge: u64, obstacle: Option<Reason>) -> Memory {
    Memory {
        exe: b"/bin/x".to_vec(),
        name: b"x".to_vec(),
        size: SIZE,
        areas: vec![Area {
            segment: Segment::Heap,
            resident: units.iter().map(|unit| unit.touched.present).sum::<u64>() + MB,
            used: 8,
            huge: [(SIZE, huge)].into_iter().collect(),
            obstacle,
            is_common: false,
            units,
            edges: MB,
        }],
    }
}

fn outcome(left: &[(u64, Reason)]) -> Outcome {
    Outcome {
        left: left
            .iter()
            .map(|(at, why)| (at * SIZE, why.clone()))
            .collect(),
        ..Outcome::default()
    }
}

/// Whatever was found, the reasons add up to what is on base pages.
fn reasons(after: &Memory, plan: &Plan, outcome: &Outcome) -> Vec<(u64, String)> {
    let before = memory(vec![unit(1, SIZE, None)], 0, None);
    let adopted = adopted(7, &before, Some(after), plan, outcome);
    let left: u64 = adopted.left.iter().map(|left| left.bytes).sum();
    assert_eq!(left, adopted.after.resident - adopted.after.huge());
    let left = adopted.left.iter();
    left.map(|left| (left.bytes, left.reason.clone())).collect()
}

#[test]
fn reasons_add_up() {
    let units = vec![
        unit(1, SIZE, Some(true)),
        unit(2, SIZE, Some(false)),
        unit(3, MB, Some(false)),
    ];
    let after = memory(units, SIZE, None);
    let plan = Plan {
        left: [(3 * SIZE, Reason::Machine)].into_iter().collect(),
        ..Plan::default()
    };
    let outcome = outcome(&[(2, Reason::Busy)]);
    let wanted = [
        (SIZE, Reason::Busy.to_string()),
        (MB, Reason::Edge.to_string()),
        (MB, Reason::Machine.to_string()),
    ];
    assert_eq!(reasons(&after, &plan, &outcome), wanted);
}

/// The kernel reports success for what was huge already.
#[test]
fn moved_and_refused_are_told_apart_from_what_was_huge() {
    let left = [
        (2, Reason::Busy),
        (3, Reason::Sparse(50)),
        (4, Reason::Refused(libc::EINVAL)),
    ];
    let outcome = Outcome {
        done: 2 * SIZE,
        ..outcome(&left)
    };
    let figures = |huge: Option<bool>| {
        let before = memory(vec![unit(1, SIZE, huge), unit(5, SIZE, huge)], SIZE, None);
        let units = [1, 5].map(|at| unit(at, SIZE, huge.map(|_| true)));
        let after = memory(units.to_vec(), 2 * SIZE, None);
        let adopted = adopted(7, &before, Some(&after), &Plan::default(), &outcome);
        (adopted.moved, adopted.before.huge(), adopted.refused)
    };
    assert_eq!(figures(Some(false)), (2 * SIZE, SIZE, 2 * SIZE));
    assert_eq!(figures(None), (SIZE, SIZE, 2 * SIZE));
}

#[test]
fn a_kernel_that_does_not_tell_what_is_huge() {
    let units = vec![unit(1, SIZE, None), unit(2, SIZE, None)];
    let after = memory(units, SIZE, None);
    let found = reasons(&after, &Plan::default(), &outcome(&[(2, Reason::Busy)]));
    assert_eq!(
        found,
        [
            (SIZE, Reason::Busy.to_string()),
            (MB, Reason::Edge.to_string())
        ]
    );
    // Nothing is known of the one that was huge before.
    let found = reasons(&after, &Plan::default(), &outcome(&[]));
    assert_eq!(
        found,
        [
            (SIZE, Reason::Later.to_string()),
            (MB, Reason::Edge.to_string())
        ]
    );
}

#[test]
fn an_obstacle_is_the_reason_of_all_but_the_ends() {
    let after = memory(vec![unit(1, SIZE, Some(false))], 0, Some(Reason::Declined));
    let found = reasons(&after, &Plan::default(), &outcome(&[]));
    let wanted = [
        (SIZE, Reason::Declined.to_string()),
        (MB, Reason::Edge.to_string()),
    ];
    assert_eq!(found, wanted);
    let small = memory(Vec::new(), 0, Some(Reason::Declined));
    let found = reasons(&small, &Plan::default(), &outcome(&[]));
    assert_eq!(found, [(MB, Reason::Edge.to_string())]);
}

#[test]
fn what_has_ended_has_nothing() {
    let before = memory(vec![unit(1, SIZE, None)], 0, None);
    let outcome = Outcome {
        gone: Some(Gone::Ended),
        ..Outcome::default()
    };
    let adopted = adopted(7, &before, None, &Plan::default(), &outcome);
    assert_eq!((adopted.after.resident, adopted.left.len()), (0, 0));
    assert!(!adopted.is_short());
    assert!(adopted.to_text().ends_with("it has ended meanwhile\n"));
    let text = document(&Head::new("hugectl"), &[adopted], true);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["processes"][0]["gone"], "ended");
    assert_eq!(
        (&value["schema"], value["status"].as_u64()),
        (&1.into(), Some(0))
    );
}
