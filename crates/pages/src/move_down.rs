//! Hugetlb memory moves to ordinary memory where the program does something to
//! it that base pages can and hugetlb pages cannot, and before forks.

use core::ops::Range;

use crate::registry::locked;
use crate::shield::Shield;
use crate::slices::SLICE;
use crate::unit::{State, Unit};
use crate::window::{Holds, Window};
use crate::{behind, private_copy, register, returned, side_stack};

/// What became of memory that was to move.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// All of it is ordinary memory.
    Moved,
    /// Some of it is written by a device or a ring, by page and not by address,
    /// and stays.
    InUse,
    /// There was no memory for some of it.
    NoMemory,
}

/// Moves what of a range is on hugetlb pages to ordinary memory, for a program
/// that wants to treat base pages of it differently. Not what it asked for as
/// huge pages: see [`crate::grant`].
pub fn step_down(addr: usize, len: usize) -> Outcome {
    step_down_where(addr, len, |_| true)
}

/// The same, only for the huge pages that lie in the range with a part.
pub fn step_down_parts(addr: usize, len: usize) -> Outcome {
    let end = addr.saturating_add(len);
    step_down_where(addr, len, |page| page.start < addr || page.end > end)
}

fn step_down_where(addr: usize, len: usize, wanted: impl Fn(&Range<usize>) -> bool) -> Outcome {
    let range = addr..addr.saturating_add(len);
    let _pass = register::GATE.pass();
    register::look(|| {
        let concerned =
            || pages_in(&range).filter(|(window, page, _)| wanted(&window.range_of(page)));
        if concerned().next().is_none() {
            return Outcome::Moved;
        }
        side_stack::on_side_stack(|| lower(concerned()))
    })
}

/// The hugetlb pages that a range touches, and what each is.
fn pages_in(range: &Range<usize>) -> impl Iterator<Item = (&'static Window, Range<usize>, State)> {
    let range = range.clone();
    let windows = register::windows().filter(|window| window.holds != Holds::Region);
    windows.flat_map(move |window| {
        let end = range.end.min(window.base + window.len);
        let mut at = range.start.max(window.base);
        let next = move || {
            let unit = (at < end).then(|| window.unit_at(at))?;
            let (state, _) = window.units()[unit].settled();
            let page = window.page_of(unit, state);
            at = window.address(page.end);
            Some((window, page, state))
        };
        core::iter::from_fn(next).filter(|(_, _, state)| state.is_hugetlb())
    })
}

/// Moves some pages, all at one go.
fn lower(pages: impl Iterator<Item = (&'static Window, Range<usize>, State)>) -> Outcome {
    if behind::writers().may_write_now() {
        return Outcome::InUse;
    }
    let shield = Shield::best();
    let mut outcome = Outcome::Moved;
    for (window, page, state) in pages {
        if !move_page(window, page, state, &shield) {
            outcome = Outcome::NoMemory;
        }
    }
    outcome
}

/// Moves a page, which another thread may be changing just now; whether it is
/// ordinary memory then.
fn move_page(window: &Window, page: Range<usize>, state: State, shield: &Shield) -> bool {
    /// A page that another thread has changed and left where it is.
    const TIMES: u32 = 3;
    let word = &window.units()[page.start];
    (0..TIMES).any(|_| {
        let moved =
            word.load().0 == state && move_units(window, page.clone(), state, shield).is_some();
        moved || !word.settled().0.is_hugetlb()
    })
}

/// Moves whole pages that are in one state, while the shield keeps others from
/// writing; how many bytes in use were moved. `None` where they stay.
pub(crate) fn move_units(
    window: &Window,
    units: Range<usize>,
    state: State,
    shield: &Shield,
) -> Option<usize> {
    let words = &window.units()[units.clone()];
    let range = window.range_of(&units);
    let claimed = words
        .iter()
        .take_while(|unit| unit.claim(state).is_some())
        .count();
    if claimed < words.len() {
        // Another thread changes one of them just now.
        publish(&words[..claimed], state);
        return None;
    }
    // SAFETY: whole pages, claimed.
    #[expect(unsafe_code, reason = "replaces memory")]
    let result = unsafe { private_copy::replace(window, units, shield) };
    publish(words, *result.as_ref().unwrap_or(&state));
    result.ok()?;
    locked::restore(&range);
    returned::give_units(window, state, words.len() * window.layout.unit);
    let used = words.iter().map(|unit| unit.load().1 as usize);
    Some(used.sum::<usize>() * SLICE)
}

fn publish(units: &[Unit], state: State) {
    for unit in units {
        let (_, used) = unit.load();
        unit.publish(state, used);
    }
}
