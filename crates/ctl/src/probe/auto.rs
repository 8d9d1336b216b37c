//! `--auto`: chooses options from the table of known programs.

use crate::probe::allocator::Own;
use crate::probe::command_line::known_programs::table::OTHERS;
use crate::probe::command_line::known_programs::{Choice, KnownProgram};
use crate::probe::heap_engine::Look;
use crate::probe::kernel::Wants;
use crate::request::{AutoChoice, Run};
use crate::say::subject::Subject;

/// Sets the options that suit the program; those in `given` win.
pub(super) fn choose(run: &mut Run, given: &Wants, look: &Look) {
    let known = look.known.unwrap_or(&OTHERS);
    let name = known.name;
    let (choices, why) = effective_choices(known, look);
    let words: Vec<&str> = choices.iter().map(|choice| choice.word()).collect();
    let words = match words.is_empty() {
        true => "nothing".to_owned(),
        false => words.join(" "),
    };
    let caveat = known.caveat.map(|caveat| format!("{name}: {caveat}"));
    run.chosen = Some(AutoChoice {
        lines: std::iter::once(format!("--auto chooses {words} for {name}: {why}"))
            .chain(caveat)
            .collect(),
        subject: Subject::HEAP.when(given.heap.is_none())
            | Subject::ANON.when(given.anon.is_none()),
    });
    for choice in choices {
        choice.apply(run, given);
    }
}

/// Returns the choices that have an effect on this program, and the reason.
fn effective_choices(known: &KnownProgram, look: &Look) -> (Vec<Choice>, String) {
    let is_heap = |choice: Choice| matches!(choice, Choice::Heap | Choice::HeapThp);
    let mut choices = known.auto.to_vec();
    if look.is_static() {
        choices.retain(|choice| match choice {
            Choice::Text | Choice::ThpAlways => true,
            Choice::Heap | Choice::HeapThp => look.tunable,
            Choice::Anon | Choice::Shm => false,
        });
    } else if look.own.is_some() {
        choices.retain(|choice| !is_heap(*choice));
        let by_anon = look.own.as_ref().is_some_and(Own::is_reached_by_anon);
        if by_anon && !choices.contains(&Choice::Anon) {
            choices.push(Choice::Anon);
        }
    }
    let why = match (&look.own, choices == known.auto) {
        (_, true) => known.why.to_owned(),
        (Some(own), false) if own.is_reached_by_anon() => {
            format!("{}, which --anon reaches", own.fact())
        }
        (Some(own), false) => own.fact(),
        (None, false) => "the program is static, so no library can be added to it".to_owned(),
    };
    (choices, why)
}
