//! The end of a program: the report, where one was asked for.
#![expect(unsafe_code, reason = "places a function among the destructors")]

use core::ffi::c_int;
use core::fmt;

use hugetools_contract::env::{Fallback, Pages};
use hugetools_contract::report::{self, Proof};
use hugetools_contract::segment::{self, Extent, Row, Segment};
use hugetools_pages::config::{self, Target};
use hugetools_pages::luck::{self, Shortfall};
use hugetools_pages::say::{Level, say};
use hugetools_pages::segment::why::{self, Why};
use hugetools_pages::side_stack::on_side_stack;
use hugetools_pages::sys::{self, Errno};
use hugetools_pages::thp::{self, NoThp};
use hugetools_pages::usage::SMALL_HEAP;
use hugetools_pages::{facts, kin, say};

use crate::objects::Extents;
use crate::report_file;
use crate::scratch::{self, Text};
use crate::{marker, old_root, past_malloc, staying};
use hugetools_pages::vmops::map_shared::LUCK as SHM_LUCK;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

extern "C" fn end() {
    if marker::is_first() && is_wanted() {
        // A report that cannot be made must not keep the program from ending.
        let _ = report();
        if matches!(config::get().report, Target::Terminal { .. }) {
            let _ = staying::report();
        }
    }
}

fn is_wanted() -> bool {
    match config::get().report {
        Target::None => false,
        Target::File => true,
        Target::Terminal { pid, .. } => pid == sys::getpid() && say::stderr_is_ours(),
    }
}

pub(crate) const NO_EXTENT: Extent<'static> = Extent {
    start: 0,
    end: 0,
    segment: Segment::Anon,
    object: None,
};

fn report() -> Option<()> {
    let smaps = old_root::smaps()?;
    let exe = old_root::exe()?;
    let extents = Extents::find(scratch::values(4096, NO_EXTENT)?, exe);
    let rows = scratch::values(1024, Row::EMPTY)?;
    let pmd = facts::thp_size() as u64;
    let filled = segment::sort(smaps, pmd, extents.all(), rows);
    let rows = rows.get_mut(..filled)?;
    rows.iter_mut().for_each(|row| give_reason(row, Some(exe)));
    past_malloc::explain(rows);
    let mut name = [0; kin::NAME];
    let proof = Proof {
        pid: sys::getpid(),
        exe,
        name: kin::name(sys::getpid(), &mut name).unwrap_or(report::base(exe)),
        rows,
        warning: None,
    };
    let mut text = Text::with_room(1 << 20)?;
    write(&proof, &mut text).ok()?;
    send(text.bytes())
}

pub(crate) fn write(proof: &Proof<'_>, text: &mut Text) -> fmt::Result {
    match is_json() {
        false => proof.write_table(text),
        true => proof.write_json(text),
    }
}

/// Whether reports are lines of JSON.
pub(crate) fn is_json() -> bool {
    !matches!(config::get().report, Target::Terminal { json: false, .. })
}

/// Where the report goes: a file is appended to with one call, so that reports
/// of several processes do not mix.
pub(crate) fn send(text: &[u8]) -> Option<()> {
    if let Some(fd) = report_file::kept() {
        write_quietly(fd, text);
        return Some(());
    }
    match report_file::open() {
        None => write_quietly(2, text),
        Some(Ok(file)) => write_quietly(file.fd(), text),
        Some(Err(Errno(number))) => say(
            Level::Warning,
            format_args!("no report: its file cannot be opened (errno {number})"),
        ),
    }
    Some(())
}

/// Where the reader is gone, or the file is as long as it may be, the program
/// ends as it would have.
fn write_quietly(fd: c_int, text: &[u8]) {
    on_side_stack(|| sys::write_quietly(fd, text));
}

/// Why a segment that was to be on huge pages is not, as far as we know.
fn give_reason(row: &mut Row<'static>, exe: Option<&[u8]>) {
    let config = config::get();
    let is_program = row.object == exe;
    if row.segment == Segment::Text && is_program {
        row.reason = why::TEXT
            .why()
            .filter(|why| why.is_of_file())
            .map(Why::reason);
    }
    if row.huge_bytes() >= row.resident / 100 * 99 {
        return;
    }
    row.reason = match row.segment {
        Segment::Text if is_program => segment_reason(&why::TEXT, config.elfmap.text.is_some()),
        Segment::Data | Segment::Bss if is_program => {
            segment_reason(&why::DATA, config.elfmap.data.is_some())
        }
        Segment::Heap if config.heap.is_some() => heap_reason(row, config.heap),
        Segment::Shm if config.shm.is_some() => {
            reason(SHM_LUCK.shortfall(), config.shm, thp::serves_shared())
        }
        Segment::Anon if config.heap.is_some() && unreached(row) => Some(past_malloc::ITS_OWN),
        _ => None,
    };
}

/// Whether there is more of it than threads' stacks and small things.
fn unreached(row: &Row<'_>) -> bool {
    row.resident.saturating_sub(row.huge_bytes()) > SMALL_HEAP as u64
}

fn segment_reason(outcome: &why::Outcome, is_wanted: bool) -> Option<&'static str> {
    let edges = "only the whole huge pages in it; ld.hugetlbfs(1) aligns the rest";
    match outcome.why() {
        Some(why) => Some(why.reason()),
        None => is_wanted.then_some(edges),
    }
}

fn heap_reason(row: &Row<'_>, pages: Option<Pages>) -> Option<&'static str> {
    if !marker::has_heap() {
        return Some("libhugetlbfs_heap.so is not loaded");
    }
    let small = row.resident.saturating_sub(row.huge_bytes()) <= SMALL_HEAP as u64;
    let thp = thp::serves_private();
    match reason(luck::shortfall(), pages, thp) {
        None if small => Some(past_malloc::SMALL),
        // The pool has served the rest.
        None => thp.err().map(NoThp::reason),
        found => found,
    }
}

fn reason(
    shortfall: Shortfall,
    pages: Option<Pages>,
    thp: Result<(), thp::NoThp>,
) -> Option<&'static str> {
    let fell = shortfall.reason();
    let transparent = pages == Some(Pages::Thp) || fell.is_some();
    match (config::get().fallback, thp) {
        (Fallback::Thp, Err(why)) if transparent => Some(why.reason()),
        _ => fell,
    }
}
