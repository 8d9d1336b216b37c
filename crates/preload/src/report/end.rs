//! The end of a program: the report, where one was asked for.
#![expect(unsafe_code, reason = "places a function among the destructors")]

use core::ffi::c_int;
use core::sync::atomic::{AtomicU32, Ordering};

use hugetools_contract::env::{Fallback, Pages, Report};
use hugetools_contract::report::reasons;
use hugetools_contract::report::{self, Ended, Life, Origin, Peak, Proof};
use hugetools_contract::segment::{self, Row, Segment};
use hugetools_pages::config;
use hugetools_pages::extent::usage::SMALL_HEAP;
use hugetools_pages::kernel::facts;
use hugetools_pages::kernel::kin::Kin;
use hugetools_pages::policy::pool_backoff::{self, Shortfall};
use hugetools_pages::policy::thp::{self, NoThp};
use hugetools_pages::rt::outlet;
use hugetools_pages::segment::stack;
use hugetools_pages::segment::why::{self, Why};
use hugetools_pages::sys::{self, Filter};

use crate::loader::host_malloc;
use crate::report::extents::Extents;
use crate::report::own_memory::{Mappings, Status};
use crate::report::{past_malloc, report_file, required, shared_page};
use crate::rt::marker;
use crate::rt::scratch::{self, Text};
use hugetools_pages::vmops::anon;
use hugetools_pages::vmops::map_shared::BACKOFF as SHM_BACKOFF;

#[used]
#[unsafe(link_section = ".fini_array")]
static END: extern "C" fn() = end;

/// Whether anything can be asked: not in a program that has filtered its own
/// system calls. hugectl reports what it saw last.
fn may_ask() -> bool {
    marker::is_first() && sys::filter() != Filter::Own
}

extern "C" fn end() {
    if !may_ask() || !is_wanted() || is_told() {
        return;
    }
    // A report that cannot be made must not keep the program from ending.
    let _ = report(status());
}

/// The status that was given to `exit`, which destructors are not told; with
/// [`KNOWN`] where there is one.
static STATUS: AtomicU32 = AtomicU32::new(0);
const KNOWN: u32 = 1 << 8;

/// Notes with which status the program will end.
pub(crate) fn note_status(status: c_int) {
    let status = u32::from(status.to_le_bytes()[0]);
    STATUS.store(status | KNOWN, Ordering::Relaxed);
}

fn status() -> Ended {
    let status = STATUS.load(Ordering::Relaxed);
    let is_known = status & KNOWN != 0;
    Ended::Exit(is_known.then(|| i32::from(status.to_le_bytes()[0])))
}

/// Reports where the program ends without destructors: in the process where it
/// began, as in a child of `vfork` all memory is its parent's.
pub(crate) fn at_once(status: c_int) {
    if shared_page::has_begun() {
        tell(status);
    }
}

/// The status of a program that does not begin, as of hugectl's own failures.
const REFUSED: c_int = 125;

/// The same of a program that does not begin, whether somebody watches it or not; and
/// ends it.
pub(crate) fn refuse() -> ! {
    tell(REFUSED);
    sys::exit(REFUSED)
}

/// Reports, where that was asked for and has not been done.
fn tell(status: c_int) {
    if may_ask() && is_wanted() && !is_told() {
        note_status(status);
        let _ = report(self::status());
    }
}

/// The process that has reported already.
static TOLD: AtomicU32 = AtomicU32::new(0);

/// Whether this one has: a handler of its end may end it again.
fn is_told() -> bool {
    let pid = sys::getpid();
    TOLD.swap(pid, Ordering::AcqRel) == pid
}

/// Whether this process reports: to hugectl, or where there is none by itself.
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
    if !shared_page::leave(text.bytes()) {
        report_file::send(text.bytes());
    }
    Some(())
}

/// The text of a report, as it is now.
fn compose(ended: Ended) -> Option<Text> {
    let status = Status::read();
    let mappings = Mappings::find()?;
    let exe = scratch::link(c"/proc/self/exe")?;
    // No object has more of either than three for each mapping; extents of the
    // heap may be one mapping together.
    let (count, names) = mappings.count();
    let extents = Extents::find((count * 3 + 512).min(4096), exe)?;
    // Each name can be a file's or that of shared memory; others have none.
    let most = 2 * names + extents.all().len() + segment::ALL.len();
    let rows = scratch::values(most.min(1024), Row::EMPTY)?;
    let pmd = facts::thp_size() as u64;
    let filled = segment::sort(mappings.records(), pmd, extents.all(), rows);
    let rows = rows.get_mut(..filled)?;
    rows.iter_mut().for_each(|row| give_reason(row, Some(exe)));
    past_malloc::explain(rows, status.most_resident);
    let mut stat = [0; 1024];
    let own = Kin::own_and_name(&mut stat);
    let mut met = required::NONE;
    let mut host = [0; 65];
    let proof = Proof {
        pid: sys::getpid(),
        exe,
        name: own.map_or(report::base(exe), |(_, name)| name),
        origin: Origin {
            host: sys::host(&mut host).map(str::as_bytes),
            rank: scratch::look(c"/proc/self/environ", report::rank).flatten(),
            parent: Some(sys::getppid()),
        },
        required: required::met(rows, &mut met),
        rows,
        warning: None,
        life: own.map(|(own, _)| life(ended, own.start * TICK, rows, status.most_resident)),
    };
    written(&proof, SHORT).or_else(|| written(&proof, 1 << 20))
}

/// The room that is enough for most reports, and needs no mapping of its own.
const SHORT: usize = 32 << 10;

fn written(proof: &Proof<'_>, room: usize) -> Option<Text> {
    let mut text = Text::with_room(room)?;
    report_file::write(proof, &mut text).ok()?;
    Some(text)
}

/// `start` is in milliseconds since the machine was started.
fn life(ended: Ended, start: u64, rows: &[Row<'_>], most: Option<u64>) -> Life {
    let now = sys::wall_clock();
    let age = sys::since_boot().saturating_sub(start);
    let mut peak = shared_page::peak().with(&Peak::of(rows, now));
    peak.resident = peak.resident.max(most.unwrap_or(0));
    Life {
        ended,
        start: now.saturating_sub(age),
        end: now,
        seen: now,
        peak,
    }
}

/// The milliseconds of a tick, in which the kernel counts the time of a start:
/// the same on all machines.
const TICK: u64 = 10;

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
    if row.segment == Segment::Heap {
        row.reason = off_pools(row, config.heap);
    }
    if row.huge_bytes() >= row.resident / 100 * 99 {
        return;
    }
    row.reason = match row.segment {
        Segment::Text if is_program => segment_reason(&why::TEXT, config.elfmap.text.is_some()),
        Segment::Data | Segment::Bss if is_program => {
            segment_reason(&why::DATA, config.elfmap.data.is_some())
        }
        Segment::Heap if config.heap.is_some() && past_malloc::is_most(row) => {
            Some(reasons::PAST_MALLOC)
        }
        Segment::Heap if config.heap.is_some() => heap_reason(row, config.heap),
        Segment::Shm if config.shm.is_some() => shm_reason(config.shm),
        Segment::Stack if config.stack.is_some() => Some(stack_reason()),
        Segment::Anon if config.anon.is_some() => Some(anon_reason()),
        Segment::Anon if config.heap.is_some() && unreached(row) => Some(reasons::ITS_OWN),
        Segment::Heap | Segment::Anon
            if config.heap.is_none() && unreached(row) && host_malloc::is_of_program() =>
        {
            Some(reasons::OWN_ALLOCATOR)
        }
        _ => None,
    };
}

/// Why a heap is not on the pages of pools that were asked for: it may be huge all the
/// same, by transparent pages, or since what would be on base pages was never touched.
fn off_pools(row: &Row<'_>, asked: Option<Pages>) -> Option<&'static str> {
    let shortfall = pool_backoff::shortfall();
    let is_fork = matches!(
        shortfall,
        Shortfall::Fork | Shortfall::Forks | Shortfall::Threads
    );
    let is_asked = asked.is_some_and(|pages| pages != Pages::Thp);
    let is_here = row.thp > 0 || !is_fork;
    shortfall.reason().filter(|_| is_asked && is_here)
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

fn anon_reason() -> &'static str {
    match thp::serves_private() {
        _ if !anon::is_asked() => reasons::RULED_OUT,
        Ok(()) => reasons::ANON_LEFT_ALONE,
        Err(why) => why.reason(),
    }
}

fn stack_reason() -> &'static str {
    match thp::serves_private() {
        _ if !stack::is_asked() => reasons::RULED_OUT,
        Ok(()) => reasons::STACK_LEFT_ALONE,
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
        // The pool has served the rest.
        None => reasons::of_head(base, huge).or(thp.err().map(NoThp::reason)),
        found => found,
    }
}

/// Where pages of the pool may not be had, that is to be mended, and not what follows.
fn shm_reason(pages: Option<Pages>) -> Option<&'static str> {
    match SHM_BACKOFF.shortfall() {
        Shortfall::ShmGroup => Shortfall::ShmGroup.reason(),
        other => reason(other, pages, thp::serves_shared()).or(Some(reasons::SHM_LEFT_ALONE)),
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
        (Fallback::Base, _) if pages == Some(Pages::Thp) => Some(reasons::RULED_OUT),
        (Fallback::Thp, Err(why)) if transparent => Some(why.reason()),
        _ => fell,
    }
}
