//! `--explain` in real situations: runs confirm predictions, and commands mend shortfalls.

mod table;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use table::{Mend, SITUATIONS, Situation};
use world::{Answer, World};

use crate::support::live::machine;

#[test]
fn predictions_come_true_and_suggestions_work() {
    let Some(live) = machine("situations") else {
        return;
    };
    let world = World::new(&live);
    let mut wrong = Vec::new();
    for situation in SITUATIONS {
        let Some(place) = world.enter(situation) else {
            continue;
        };
        // Continue, so that all wrong situations are named.
        let examined = catch_unwind(AssertUnwindSafe(|| examine(&place, situation)));
        wrong.extend(examined.err().map(|_| situation.name));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

fn examine(place: &world::Place<'_>, situation: &Situation) {
    let name = situation.name;
    let answer = place.explain(situation.before);
    assert_eq!(answer.status, situation.status, "{name}: {answer:?}");
    for (segment, rung) in situation.rungs {
        let first = answer.rungs(segment).first().cloned();
        assert_eq!(first.as_deref(), Some(*rung), "{name}: {answer:?}");
    }
    let is_predicted = |answer: &Answer| answer.shortfall(situation.fact).is_some();
    let expected = !situation.fact.is_empty();
    assert_eq!(is_predicted(&answer), expected, "{name}: {answer:?}");
    for text in situation.messages {
        assert!(answer.has_message(text), "{name}: {text}: {answer:?}");
    }
    place.check_cause(&answer, situation);
    let ran = place.run(situation.before);
    assert_eq!(ran.status, 0, "{name}: {ran:?}");
    place.compare(&answer, &ran, name);
    let command = answer
        .shortfall(situation.fact)
        .and_then(|s| s.command.clone());
    let (command, before) = match (situation.mend, command) {
        (Mend::No, command) => return assert_eq!(command, None, "{name}"),
        (Mend::Advice, command) => return assert!(command.is_some(), "{name}: {answer:?}"),
        (Mend::Command, command) => (command.expect(name), situation.before),
        (Mend::Before(before), _) => (String::new(), before),
    };
    place.shell(&command);
    let mended = place.explain(before);
    assert!(
        !is_predicted(&mended),
        "{name}, mended by {command}: {mended:?}"
    );
    let ran = place.run(before);
    assert_eq!(ran.status, 0, "{name}, mended: {ran:?}");
    place.compare(&mended, &ran, name);
}
