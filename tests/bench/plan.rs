//! The order of runs: every round runs every way once, so that disturbances hit all ways.

use super::way::Way;

/// The runs of one workload in one round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) round: u32,
    /// Index of the workload.
    pub(crate) work: usize,
    pub(crate) ways: Vec<Way>,
}

/// Returns all turns; `works` are the ways of each workload. Each round has another order.
/// Ways with the same pool stay together.
pub(crate) fn turns(rounds: u32, works: &[Vec<Way>]) -> Vec<Turn> {
    let turn = |round, work: usize| Turn {
        round,
        work,
        ways: order(round, &works[work]),
    };
    (0..rounds)
        .flat_map(|round| (0..works.len()).map(move |work| (round, work)))
        .map(|(round, work)| turn(round, work))
        .collect()
}

fn order(round: u32, ways: &[Way]) -> Vec<Way> {
    let (mut full, mut empty): (Vec<Way>, Vec<Way>) = ways.iter().partition(|way| way.needs_pool());
    for group in [&mut full, &mut empty] {
        let places = group.len().max(1);
        group.rotate_left(usize::try_from(round).unwrap_or(0) % places);
    }
    match round % 2 {
        0 => [empty, full].concat(),
        _ => [full, empty].concat(),
    }
}
