//! Private hugetlb memory moves to ordinary memory.
//!
//! A private hugetlb page that is written after a fork needs a second page of
//! the pool; where there is none, the writer dies. Ordinary memory has no such
//! end, and is as fast. So it is copied once, piece by piece, and the pool's
//! pages are free for others.

use hugetools_contract::env::Fallback;

use crate::luck::{self, Shortfall};
use crate::say::{Amount, Level, say};
use crate::shield::Shield;
use crate::window::Window;
use crate::{config, move_down, required, thp};

use super::{in_place, runs};

/// At most so many pieces, since each is a mapping of its own and a process
/// may have 65530.
const MOST_PIECES: usize = 8192;

/// Moves all of it, `total` bytes; how many were moved. Piece by piece, so that
/// memory is needed twice for no more than that, and nobody waits for long.
pub(super) fn evacuate(total: usize, shield: &Shield) -> usize {
    let piece = shield.piece().max(total / MOST_PIECES);
    let mut moved = 0;
    for window in runs::writable() {
        moved += move_window(window, piece, shield);
        // What is left had no address space to spare, but for one page.
        moved += move_window(window, 0, shield);
        // Or no mapping.
        moved += in_place::move_window(window, shield);
    }
    luck::LUCK.note(Shortfall::Fork);
    moved
}

/// Moves one window; how many bytes in use were moved.
fn move_window(window: &Window, piece: usize, shield: &Shield) -> usize {
    let pieces = runs::pieces(window, piece);
    pieces
        .filter_map(|(units, state)| move_down::move_units(window, units, state, shield))
        .sum()
}

/// Says what was done.
pub(super) fn report(moved: usize, total: usize) {
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
    if moved > 0 {
        required::heap_moved(moved);
    }
    if moved < total {
        let left = Amount(total - moved);
        say(
            Level::Info,
            format_args!("fork: {left} stay on hugetlb pages"),
        );
    }
}
