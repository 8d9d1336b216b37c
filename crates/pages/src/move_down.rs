//! Before a fork, private hugetlb memory moves down to transparent huge pages.
//!
//! A private hugetlb page that is written after a fork needs a second page of
//! the pool; where there is none, the writer dies. Ordinary memory has no such
//! end, and is as fast. So it is copied once, piece by piece, and the pool's
//! pages are free for others. Where others are at work in that memory the child
//! gets a copy instead, if that can be done: see [`for_child`](crate::for_child).
#![expect(unsafe_code, reason = "replaces memory")]

use core::ops::Range;

use hugetools_contract::env::Fallback;

use crate::luck::Shortfall;
use crate::say::{Amount, Level, say};
use crate::slices::SLICE;
use crate::unit::{State, Unit};
use crate::window::{Holds, Window};
use crate::{config, facts, luck, private_copy, register, returned, runs, thp};

/// A piece is copied and replaced at a time, so that memory is needed twice for
/// no more than that.
const PIECE: usize = 16 << 20;

/// The same where other threads wait until it is done: half a millisecond.
const SHORT_PIECE: usize = 4 << 20;

/// At most so many pieces, since each is a mapping of its own and a process
/// may have 65530.
const MOST_PIECES: usize = 8192;

/// Moves all of it down, `total` bytes. The gate must be closed. Other threads
/// that write there wait; system calls of theirs that do so fail, and devices
/// must not.
pub fn move_down(total: usize) {
    let piece = match facts::has_threads() {
        true => SHORT_PIECE,
        false => PIECE,
    };
    let piece = piece.max(total / MOST_PIECES);
    let windows = runs::writable();
    let moved: usize = windows.map(|window| move_window(window, piece)).sum();
    luck::LUCK.note(Shortfall::Fork);
    report(moved, total);
}

/// Moves what of a range is on hugetlb pages to ordinary memory, for a program
/// that wants to treat base pages of it differently. Not what it asked for as
/// huge pages: see [`crate::grant`].
pub fn step_down(addr: usize, len: usize) {
    let _pass = register::GATE.pass();
    register::look(|| step_down_in(addr, len, |_| true));
}

/// The same, only for the huge pages that lie in the range with a part.
pub fn step_down_parts(addr: usize, len: usize) {
    let end = addr.saturating_add(len);
    let is_part = |page: &Range<usize>| page.start < addr || page.end > end;
    let _pass = register::GATE.pass();
    register::look(|| step_down_in(addr, len, is_part));
}

fn step_down_in(addr: usize, len: usize, wanted: impl Fn(&Range<usize>) -> bool) {
    let windows = register::windows().filter(|window| window.holds != Holds::Region);
    for window in windows {
        let start = addr.max(window.base);
        let end = addr.saturating_add(len).min(window.base + window.len);
        let mut at = start;
        while at < end {
            let unit = window.unit_at(at);
            let (state, _) = window.units()[unit].settled();
            let page = window.page_of(unit, state);
            if state.is_hugetlb() && wanted(&window.range_of(&page)) {
                move_units(window, page.clone(), state);
            }
            at = window.address(page.end);
        }
    }
}

fn report(moved: usize, total: usize) {
    let (level, next) = match config::get().fallback {
        Fallback::Thp | Fallback::None if thp::serves_private().is_ok() => {
            (Level::Info, "transparent huge pages")
        }
        _ => (Level::Warning, "base pages"),
    };
    say(
        level,
        format_args!("fork: moved {} from hugetlb pages to {next}", Amount(moved)),
    );
    if moved < total {
        let left = Amount(total - moved);
        say(
            Level::Warning,
            format_args!("fork: {left} stay on hugetlb pages"),
        );
    }
}

/// Moves one window; how many bytes in use were moved.
fn move_window(window: &Window, piece: usize) -> usize {
    let pieces = runs::pieces(window, piece);
    pieces
        .map(|(units, state)| move_units(window, units, state))
        .sum()
}

/// Moves whole pages that are in one state; how many bytes in use were moved.
pub(crate) fn move_units(window: &Window, units: Range<usize>, state: State) -> usize {
    let words = &window.units()[units.clone()];
    let claimed = words
        .iter()
        .take_while(|unit| unit.claim(state).is_some())
        .count();
    if claimed < words.len() {
        // A signal handler mends one of them just now.
        publish(&words[..claimed], state);
        return 0;
    }
    // SAFETY: whole pages, claimed.
    match unsafe { private_copy::replace(window, units) } {
        Ok(now) => {
            publish(words, now);
            returned::give_units(window, state, words.len() * window.layout.unit);
            words
                .iter()
                .map(|unit| unit.load().1 as usize)
                .sum::<usize>()
                * SLICE
        }
        Err(_) => {
            publish(words, state);
            0
        }
    }
}

fn publish(units: &[Unit], state: State) {
    for unit in units {
        let (_, used) = unit.load();
        unit.publish(state, used);
    }
}
