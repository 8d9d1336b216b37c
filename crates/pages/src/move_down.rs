//! Before a fork, private hugetlb memory moves down to transparent huge pages.
//!
//! A private hugetlb page that is written after a fork needs a second page of
//! the pool; where there is none, the writer dies. Ordinary memory has no such
//! end, and is as fast. So it is copied once, piece by piece, and the pool's
//! pages are free for others.
#![expect(unsafe_code, reason = "replaces memory")]

use core::ops::Range;
use core::sync::atomic::{AtomicU32, Ordering};

use hugetools_contract::env::Fallback;

use crate::luck::Shortfall;
use crate::say::{Amount, Level, say};
use crate::slices::SLICE;
use crate::unit::{State, Unit};
use crate::window::{Holds, Window};
use crate::{cgroup, config, facts, luck, private_copy, register};

/// Pieces are closed to writers while they are copied: 1 to 2 ms.
const PIECE: usize = 16 << 20;

/// At most so many pieces, since each is a mapping of its own and a process
/// may have 65530.
const MOST_PIECES: usize = 8192;

/// After so many moves a process stays off hugetlb pages.
const MOVES: u32 = 2;

/// Memory that a move leaves to others.
const MARGIN: usize = 64 << 20;

/// Moves all of it down. The gate must be closed.
pub fn move_down() {
    let total: usize = writable().map(hugetlb_bytes).sum();
    if total == 0 {
        return;
    }
    let room = facts::available_memory().min(cgroup::memory_left());
    if room < total.saturating_add(MARGIN) {
        say(
            Level::Warning,
            format_args!(
                "fork: {} of memory stay on hugetlb pages, since only {} are free to \
                 copy them to; a child that writes to them needs as much memory again",
                Amount(total),
                Amount(room)
            ),
        );
        return;
    }
    let piece = PIECE.max(total / MOST_PIECES);
    let moved: usize = writable().map(|window| move_window(window, piece)).sum();
    luck::LUCK.note(Shortfall::Fork);
    static COUNT: AtomicU32 = AtomicU32::new(0);
    if COUNT.fetch_add(1, Ordering::Relaxed) + 1 >= MOVES {
        luck::NO_HUGETLB.store(true, Ordering::Relaxed);
    }
    report(moved, total);
}

/// The windows whose pages a child may write to.
fn writable() -> impl Iterator<Item = &'static Window> {
    register::windows().filter(|window| window.holds != Holds::Text)
}

/// Moves what of a range is on hugetlb pages to ordinary memory, for a program
/// that wants to treat base pages of it differently.
pub fn step_down(addr: usize, len: usize) {
    let _pass = register::GATE.pass();
    for window in register::windows() {
        let start = addr.max(window.base);
        let end = addr.saturating_add(len).min(window.base + window.len);
        let mut at = start;
        while at < end {
            let unit = window.unit_at(at);
            let (state, _) = window.units()[unit].settled();
            let page = window.page_of(unit, state);
            if state.is_hugetlb() {
                move_units(window, page.clone(), state);
            }
            at = window.address(page.end);
        }
    }
}

fn report(moved: usize, total: usize) {
    let (level, next) = match config::get().fallback {
        Fallback::Thp | Fallback::None if facts::private_thp().is_ok() => {
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

fn hugetlb_bytes(window: &Window) -> usize {
    let units = window.units().iter();
    let slices = units.map(|unit| match unit.load() {
        (state, used) if state.is_hugetlb() => used as usize,
        _ => 0,
    });
    slices.sum::<usize>() * SLICE
}

/// Moves one window; how many bytes in use were moved.
fn move_window(window: &Window, piece: usize) -> usize {
    let mut moved = 0;
    let mut at = 0;
    while at < window.units().len() {
        let (state, _) = window.units()[at].load();
        let units = match state {
            State::Huge => huge_run(window, at, piece),
            State::Big => window.page_of(at, state),
            _ => {
                at += 1;
                continue;
            }
        };
        moved += move_units(window, units.clone(), state);
        at = units.end;
    }
    moved
}

/// The units from `at` on that are hugetlb pages, at most `piece` bytes.
fn huge_run(window: &Window, at: usize, piece: usize) -> Range<usize> {
    let limit = (at + (piece / window.layout.unit).max(1)).min(window.units().len());
    let is_huge = |unit: &usize| window.units()[*unit].load().0 == State::Huge;
    let end = (at..limit).find(|unit| !is_huge(unit));
    at..end.unwrap_or(limit)
}

/// Moves whole pages that are in one state; how many bytes in use were moved.
fn move_units(window: &Window, units: Range<usize>, state: State) -> usize {
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
