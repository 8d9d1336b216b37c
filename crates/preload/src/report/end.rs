//! The report at the end of a program.
#![expect(unsafe_code, reason = "places a function among the destructors")]

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use hugetools_contract::env::{Pages, Report};
use hugetools_contract::ladder::wants_thp;
use hugetools_contract::report::reasons;
use hugetools_contract::report::{self, Ended, Life, Origin, Peak, Proof};
use hugetools_contract::segment::{self, Row, Segment};
use hugetools_pages::config;
use hugetools_pages::extent::usage::{self, SMALL_HEAP};
use hugetools_pages::kernel::facts;
use hugetools_pages::kernel::process::Process;
use hugetools_pages::next_touch;
use hugetools_pages::policy::pool_backoff::{self, Shortfall};
use hugetools_pages::policy::start_facts;
use hugetools_pages::policy::thp::{self, NoThp};
use hugetools_pages::rt::outlet;
use hugetools_pages::segment::reason::{self, Reason};
use hugetools_pages::segment::stack;
use hugetools_pages::sys::{self, Filter};

use crate::loader::host_malloc;
use crate::report::extents::Extents;
use crate::report::own_memory::{Mappings, peak_resident};
use crate::report::{report_file, required, shared_page};
use crate::rt::marker;
use crate::rt::scratch::{self, Text};
use hugetools_pages::vmops::anon;
use hugetools_pages::vmops::map_shared::SHORTFALL;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

/// Whether this copy may report. Under the program's own seccomp filter it may not: hugectl reports
/// its last sample.
fn may_report() -> bool {
    marker::is_first() && sys::filter() != Filter::Own
}

extern "C" fn end() {
    report_once(None);
}

/// The status passed to `exit`, with [`KNOWN`] if there is one.
static STATUS: AtomicU32 = AtomicU32::new(0);
const KNOWN: u32 = 1 << 8;

pub(crate) fn note_status(status: c_int) {
    let status = u32::from(status.to_le_bytes()[0]);
    STATUS.store(status | KNOWN, Ordering::Relaxed);
}

fn status() -> Ended {
    let status = STATUS.load(Ordering::Relaxed);
    let is_known = status & KNOWN != 0;
    Ended::Exit(is_known.then(|| i32::from(status.to_le_bytes()[0])))
}

/// Reports at `_exit`, except in a child of `vfork`, which shares its parent's memory.
pub(crate) fn report_at_exit(status: c_int) {
    if shared_page::is_own_process() {
        report_once(Some(status));
    }
}

/// Exit status of a program that may not begin, as for hugectl's own failures.
const REFUSED: c_int = 125;

/// Reports, and ends the program before it begins.
pub(crate) fn refuse_start() -> ! {
    report_once(Some(REFUSED));
    sys::exit(REFUSED)
}

fn report_once(status: Option<c_int>) {
    if may_report() && is_wanted() && !is_reported() {
        status.into_iter().for_each(note_status);
        // Failures are ignored: the program must end.
        let _ = report(self::status());
    }
}

/// PID of the process that has reported.
static REPORTED: AtomicU32 = AtomicU32::new(0);

/// Marks this process as reported; returns whether it was before: an exit handler may call `_exit`.
fn is_reported() -> bool {
    let pid = sys::getpid();
    REPORTED.swap(pid, Ordering::AcqRel) == pid
}

/// Whether this process reports, through hugectl or by itself.
fn is_wanted() -> bool {
    match config::get().report {
        None => false,
        Some(_) if shared_page::is_own() => true,
        Some(Report::File(_)) => true,
        Some(Report::Terminal { pid, .. }) => pid == sys::getpid() && outlet::is_open(),
    }
}

fn report(ended: Ended) -> Option<()> {
    let text = compose(ended)?;
    if !shared_page::publish(text.bytes()) {
        report_file::send(text.bytes());
    }
    Some(())
}

/// Formats the report.
fn compose(ended: Ended) -> Option<Text> {
    start_facts::take();
    let peak = peak_resident();
    let mappings = Mappings::read()?;
    let exe = scratch::link(c"/proc/self/exe")?;
    // Room for three ranges per mapping, and for heap extents that share a mapping.
    let (count, names) = mappings.count();
    let extents = Extents::collect((count * 3 + 512).min(16384), exe)?;
    // A name has at most two rows, for its private and its shared mappings.
    let most = 2 * names + extents.all().len() + segment::ALL.len();
    let rows = scratch::values(most.min(8192), Row::EMPTY)?;
    let pmd = facts::thp_size() as u64;
    let filled = segment::sort(mappings.records(), pmd, extents.all(), rows);
    let rows = rows.get_mut(..filled)?;
    rows.iter_mut().for_each(|row| give_reason(row, Some(exe)));
    if peak.is_some_and(|peak| has_mapped_memory(rows, peak)) {
        let mut unexplained = rows.iter_mut().filter(|row| row.reason.is_none());
        let anon = unexplained.find(|row| row.segment == Segment::Anon);
        anon.into_iter()
            .for_each(|row| row.reason = Some(reasons::ITS_OWN));
    }
    let mut stat = [0; 1024];
    let own = Process::own_and_name(&mut stat);
    let mut met = required::NO_RESULTS;
    let mut host = [0; 65];
    let proof = Proof {
        pid: sys::getpid(),
        exe,
        name: own.map_or(report::base(exe), |(_, name)| name),
        origin: Origin {
            host: sys::host_name(&mut host).map(str::as_bytes),
            rank: scratch::with_file(c"/proc/self/environ", report::rank).flatten(),
            parent: Some(sys::getppid()),
        },
        required: required::met(rows, &mut met),
        next_touch: next_touch::figures(),
        rows,
        warning: None,
        life: own.map(|(own, _)| life(ended, own.start * TICK, rows, peak)),
    };
    format_report(&proof, USUAL_LEN).or_else(|| format_report(&proof, 1 << 20))
}

/// Bytes that suffice for most reports. Tried first: the address space may be nearly full.
const USUAL_LEN: usize = 32 << 10;

fn format_report(proof: &Proof<'_>, room: usize) -> Option<Text> {
    let mut text = Text::with_room(room)?;
    report_file::write(proof, &mut text).ok()?;
    Some(text)
}

/// `start` is in milliseconds since boot, `resident` the peak of the whole process in bytes.
fn life(ended: Ended, start: u64, rows: &[Row<'_>], resident: Option<u64>) -> Life {
    let now = sys::wall_clock();
    let age = sys::since_boot().saturating_sub(start);
    let mut peak = shared_page::peak().with(&Peak::of(rows, now));
    peak.resident = peak.resident.max(resident.unwrap_or(0));
    Life {
        ended,
        start: now.saturating_sub(age),
        end: now,
        seen: now,
        peak,
    }
}

/// Milliseconds of a tick, the unit of a start time in `/proc/PID/stat`.
const TICK: u64 = 10;

/// Sets the reason a segment isn't on huge pages.
fn give_reason(row: &mut Row<'static>, exe: Option<&[u8]>) {
    let config = config::get();
    let is_program = row.object == exe;
    if row.segment == Segment::Text && is_program {
        row.reason = reason::TEXT
            .why()
            .filter(|why| why.is_of_file())
            .map(Reason::reason);
    }
    if row.segment == Segment::Heap {
        row.reason = off_pools(row, config.heap);
    }
    if row.huge_bytes() >= row.resident / 100 * 99 {
        return;
    }
    row.reason = match row.segment {
        Segment::Text if is_program => segment_reason(&reason::TEXT, config.elfmap.text.is_some()),
        Segment::Data | Segment::Bss if is_program => {
            segment_reason(&reason::DATA, config.elfmap.data.is_some())
        }
        Segment::Heap if config.heap.is_some() && exceeds_own_heap(row) => {
            Some(reasons::PAST_MALLOC)
        }
        Segment::Heap if config.heap.is_some() => heap_reason(row, config.heap),
        Segment::Shm if config.shm.is_some() => shm_reason(config.shm),
        Segment::Stack if config.stack.is_some() => Some(advised_reason(
            stack::is_enabled(),
            reasons::STACK_LEFT_ALONE,
        )),
        Segment::Anon if config.anon.is_some() => {
            Some(advised_reason(anon::is_enabled(), reasons::ANON_LEFT_ALONE))
        }
        Segment::Anon if config.heap.is_some() && exceeds_thread_stacks(row) => {
            Some(reasons::ITS_OWN)
        }
        Segment::Heap | Segment::Anon
            if config.heap.is_none()
                && exceeds_thread_stacks(row)
                && host_malloc::is_of_program() =>
        {
            Some(reasons::OWN_ALLOCATOR)
        }
        _ => None,
    };
}

/// Returns why a heap isn't on the requested pool, even if transparent huge pages serve it.
fn off_pools(row: &Row<'_>, asked: Option<Pages>) -> Option<&'static str> {
    let shortfall = pool_backoff::shortfall();
    let is_fork = matches!(
        shortfall,
        Shortfall::Fork | Shortfall::Forks | Shortfall::Threads | Shortfall::Filter
    );
    let is_requested = asked.is_some_and(|pages| pages != Pages::Thp);
    let applies = row.thp > 0 || !is_fork;
    shortfall.reason().filter(|_| is_requested && applies)
}

/// Whether the program has mapped private memory itself: its peak exceeds our heap's plus the
/// other rows.
fn has_mapped_memory(rows: &[Row<'_>], peak: u64) -> bool {
    let is_private = |row: &&Row<'_>| matches!(row.segment, Segment::Heap | Segment::Anon);
    let others = rows.iter().filter(|row| !is_private(row));
    let others: u64 = others.map(|row| row.resident).sum();
    let own = (usage::peak() as u64).saturating_add(usage::REPORT_TOLERANCE as u64);
    config::get().heap.is_some() && peak > others.saturating_add(own)
}

/// Whether a heap row has more bytes on base pages than our heap ever used.
fn exceeds_own_heap(row: &Row<'_>) -> bool {
    let base = row.resident.saturating_sub(row.huge_bytes());
    base > (usage::peak() as u64).saturating_add(usage::REPORT_TOLERANCE as u64)
}

/// Whether a row has more bytes on base pages than thread stacks would take.
fn exceeds_thread_stacks(row: &Row<'_>) -> bool {
    row.resident.saturating_sub(row.huge_bytes()) > SMALL_HEAP as u64
}

fn segment_reason(outcome: &reason::Outcome, is_wanted: bool) -> Option<&'static str> {
    match outcome.why() {
        Some(why) => Some(why.reason()),
        None => is_wanted.then_some(reasons::EDGES),
    }
}

/// Returns why the program's own memory isn't on transparent huge pages.
fn advised_reason(is_enabled: bool, left_alone: &'static str) -> &'static str {
    match thp::serves_private() {
        _ if !is_enabled => reasons::RULED_OUT,
        Ok(()) => left_alone,
        Err(why) => why.reason(),
    }
}

fn heap_reason(row: &Row<'_>, pages: Option<Pages>) -> Option<&'static str> {
    if !marker::has_heap() {
        return Some("libhugetlbfs_heap.so is not loaded");
    }
    let (base, huge) = (
        row.resident.saturating_sub(row.huge_bytes()),
        row.huge_bytes(),
    );
    let thp = thp::serves_private();
    match reason(pool_backoff::shortfall(), pages, thp) {
        // No request failed.
        None => reasons::of_head(base, huge).or(thp.err().map(NoThp::reason)),
        found => found,
    }
}

/// Returns why shared memory isn't on huge pages; missing rights for the pool come first.
fn shm_reason(pages: Option<Pages>) -> Option<&'static str> {
    match SHORTFALL.get() {
        Shortfall::ShmGroup => Shortfall::ShmGroup.reason(),
        other => reason(other, pages, thp::serves_shared()).or(Some(reasons::SHM_LEFT_ALONE)),
    }
}

fn reason(
    shortfall: Shortfall,
    pages: Option<Pages>,
    thp: Result<(), thp::NoThp>,
) -> Option<&'static str> {
    let shortage = shortfall.reason();
    let is_pool = pages != Some(Pages::Thp);
    match (wants_thp(is_pool, config::get().fallback), thp) {
        (false, _) if !is_pool => Some(reasons::RULED_OUT),
        (true, Err(why)) if !is_pool || shortage.is_some() => Some(why.reason()),
        _ => shortage,
    }
}
