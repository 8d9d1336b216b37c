//! Who runs when: in each round each way once, so that what disturbs the
//! machine disturbs all alike.

use super::way::Way;

/// The runs of one workload in one round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Which round.
    pub(crate) round: u32,
    /// Which workload, by its place.
    pub(crate) work: usize,
    /// In this order.
    pub(crate) ways: Vec<Way>,
}

/// All turns. `works` are the ways of each workload. From round to round the
/// ways change their places; those that share a pool stay together.
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
