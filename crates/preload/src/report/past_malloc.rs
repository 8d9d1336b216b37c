//! Memory that a program maps itself, as virtual machines do, and may unmap before the report. It
//! explains a small heap.

use hugetools_contract::report::reasons::{ITS_OWN, SMALL_HEAP};
use hugetools_contract::segment::{Row, Segment};
use hugetools_pages::config;
use hugetools_pages::extent::usage::{self, REPORT_TOLERANCE};

const SMALL_BESIDE: &str =
    "a small heap; most memory was mapped by the program itself, not by malloc";

const GIVEN_BACK: &str = "mostly freed by now; mapped by the program itself, not by malloc";

/// Sets the reasons of heap and anonymous memory if most of it was the program's own. `peak` is
/// the maximum resident size.
pub(crate) fn explain(rows: &mut [Row<'static>], peak: Option<u64>) {
    let is_larger = |row: &Row<'_>| row.segment == Segment::Heap && row.reason != Some(SMALL_HEAP);
    if config::get().heap.is_none() || rows.iter().any(is_larger) {
        return;
    }
    let is_there = |row: &Row<'_>| row.segment == Segment::Anon && row.reason == Some(ITS_OWN);
    if !rows.iter().any(is_there) && !was_large(rows, peak) {
        return;
    }
    for row in rows {
        match (row.segment, row.reason) {
            (Segment::Heap, Some(SMALL_HEAP)) => row.reason = Some(SMALL_BESIDE),
            (Segment::Anon, None) => row.reason = Some(GIVEN_BACK),
            _ => {}
        }
    }
}

/// Whether a heap row has more bytes on base pages than our heap ever used.
pub(crate) fn is_most(heap: &Row<'_>) -> bool {
    let base = heap.resident.saturating_sub(heap.huge_bytes());
    let ours = (usage::peak() as u64).saturating_add(REPORT_TOLERANCE as u64);
    base > ours
}

/// Whether the peak exceeds the heap's maximum plus all other segments except private mappings.
fn was_large(rows: &[Row<'_>], peak: Option<u64>) -> bool {
    let others = rows
        .iter()
        .filter(|row| !matches!(row.segment, Segment::Heap | Segment::Anon));
    let others: u64 = others.map(|row| row.resident).sum();
    let known = others
        .saturating_add(usage::peak() as u64)
        .saturating_add(REPORT_TOLERANCE as u64);
    peak.is_some_and(|peak| peak > known)
}
