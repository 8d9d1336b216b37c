//! Checks `--require` before the program begins: measures code, data, bss and the main stack, and
//! probes pages for heap, private mappings and shared memory. If a requirement isn't met, the
//! program doesn't begin.
#![expect(unsafe_code, reason = "unmaps the mapping of a probe")]

use core::fmt;
use core::ops::{ControlFlow, Range};
use core::sync::atomic::{AtomicU64, Ordering};

use hugetools_contract::env::{Require, Required, Share};
use hugetools_contract::report::{self, Met, reasons};
use hugetools_contract::segment::{self, Row, Segment};
use hugetools_kernfs::size_name::SizeName;
use hugetools_kernfs::smaps::{Record, records};
use hugetools_pages::config::{self, Config};
use hugetools_pages::kernel::{constraints, facts, hugetlb_pool, populate, process};
use hugetools_pages::migrate::staging::Staging;
use hugetools_pages::policy::thp::{self, NoThp};
use hugetools_pages::policy::{start_facts, unmet};
use hugetools_pages::rt::message::{Level, say};
use hugetools_pages::segment::data;
use hugetools_pages::segment::load::{Load, loads};
use hugetools_pages::segment::reason::{self, Reason};
use hugetools_pages::segment::rungs::Rungs;
use hugetools_pages::segment::stack;
use hugetools_pages::segment::tail;
use hugetools_pages::sys;

use crate::loader::host_malloc;
use crate::loader::objects::{self, Object};
use crate::program_segments::pages_for;
use crate::report::shared_page;
use crate::rt::{marker, scratch};

/// Returns whether all requirements are met; reports each unmet one.
pub(crate) fn is_met() -> bool {
    let config = config::get();
    let require = config.require;
    if !require.is_any() {
        return true;
    }
    start_facts::take();
    let is_of_file = |segment| FILE_SEGMENTS.contains(&segment);
    if require.all().any(|(segment, _)| is_of_file(segment)) {
        measure_program(config);
    }
    if require.has(Segment::Stack) {
        measure_stack();
    }
    let refused = require.all().filter(|(segment, share)| {
        let met = match segment {
            Segment::Heap => probe_heap(config).map_err(|why| refuse(*segment, *share, &why)),
            Segment::Anon => probe_thp().map_err(|why| refuse(*segment, *share, &why)),
            Segment::Shm => probe_shm(config).map_err(|why| refuse(*segment, *share, &why)),
            _ => Measure::of(*segment).check(*segment, *share),
        };
        met.is_err()
    });
    // `count`, unlike `any`, checks and reports all of them.
    let refused = refused.count();
    shared_page::note_required(met(&[], &mut NO_RESULTS.clone()));
    refused == 0
}

/// Reports an unmet requirement.
fn refuse(segment: Segment, share: Share, why: &dyn fmt::Display) {
    unmet::note(segment);
    let mut name = [0; process::NAME];
    let name = process::name(sys::getpid(), &mut name).unwrap_or(b"the program");
    say(
        Level::Error,
        format_args!(
            "{} is not started: --require={} is not met: {why}",
            report::Lossy(name),
            Required(segment, share)
        ),
    );
}

/// An array for [`met`] to fill.
pub(crate) const NO_RESULTS: [Met; COUNT] = [Met {
    required: Required(Segment::Text, Share::Whole),
    bytes: 0,
    huge: 0,
    met: false,
}; COUNT];

const COUNT: usize = Require::SEGMENTS.len();

/// Returns each requirement, its bytes, and whether it is met. Segments that weren't measured take
/// their bytes from `rows`.
pub(crate) fn met<'a>(rows: &[Row<'_>], results: &'a mut [Met; COUNT]) -> &'a [Met] {
    let mut count = 0;
    let all = config::get().require.all();
    for ((segment, share), result) in all.zip(results.iter_mut()) {
        let measure = Measure::of(segment);
        let is_measured = MEASURABLE.contains(&segment);
        let of_segment = || rows.iter().filter(|row| row.segment == segment);
        let (bytes, huge) = match share {
            _ if !is_measured => (
                of_segment().map(|row| row.resident).sum(),
                of_segment().map(Row::huge_bytes).sum(),
            ),
            Share::Whole => (measure.whole, measure.huge),
            Share::Percent(_) => (measure.all, measure.huge),
        };
        *result = Met {
            required: Required(segment, share),
            bytes,
            huge,
            met: !unmet::is_noted(segment)
                && (!is_measured || share.is_met(measure.huge, measure.whole, measure.all)),
        };
        count += 1;
    }
    &results[..count]
}

/// Segments of the program's file.
const FILE_SEGMENTS: [Segment; 3] = [Segment::Text, Segment::Data, Segment::Bss];

/// Segments measured before the program begins.
const MEASURABLE: [Segment; 4] = [Segment::Text, Segment::Data, Segment::Bss, Segment::Stack];

/// The [`Measure`] of each segment.
static MEASURED: [[AtomicU64; 3]; segment::ALL.len()] =
    [const { [const { AtomicU64::new(0) }; 3] }; segment::ALL.len()];

/// Bytes of a segment before the program begins; 0 for those not in [`MEASURABLE`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Measure {
    pub(crate) all: u64,
    /// Bytes that whole huge pages could hold.
    pub(crate) whole: u64,
    /// Bytes on huge pages.
    pub(crate) huge: u64,
}

impl Measure {
    /// Returns the recorded measurement.
    pub(crate) fn of(segment: Segment) -> Measure {
        let words = MEASURED[segment as usize].each_ref();
        let [all, whole, huge] = words.map(|word| word.load(Ordering::Relaxed));
        Measure { all, whole, huge }
    }

    fn note(self, segment: Segment) {
        let words = MEASURED[segment as usize].iter();
        for (word, bytes) in words.zip([self.all, self.whole, self.huge]) {
            word.store(bytes, Ordering::Relaxed);
        }
    }

    fn check(self, segment: Segment, share: Share) -> Result<(), ()> {
        let Measure { all, whole, huge } = self;
        if share.is_met(huge, whole, all) {
            return Ok(());
        }
        let (of, what) = match share {
            Share::Whole if whole > 0 => (whole, "in whole huge pages"),
            _ => (all, "of it"),
        };
        let tenths = (huge * 1000).checked_div(of).unwrap_or(0);
        let (whole, tenth) = (tenths / 10, tenths % 10);
        let because = BasePagesReason(segment, self);
        let (huge, of) = (huge / 1024, of / 1024);
        // Not in a variable: Rust 1.85 would drop the temporaries of `format_args!` too early.
        refuse(
            segment,
            share,
            &format_args!("{huge} of {of} kB {what} are on huge pages ({whole}.{tenth}%){because}"),
        );
        Err(())
    }
}

/// Formats why the rest isn't on huge pages.
struct BasePagesReason(Segment, Measure);

impl fmt::Display for BasePagesReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BasePagesReason(segment, measure) = self;
        let outcome = match segment {
            Segment::Stack => return because_of_stack(*measure, f),
            Segment::Text => &reason::TEXT,
            _ => &reason::DATA,
        };
        let small = Some(Reason::Small);
        match outcome.why() {
            _ if config::get().elfmap.off => {
                f.write_str(": HUGETLB_ELFMAP leaves it on base pages")
            }
            _ if measure.whole == 0 => {
                write!(
                    f,
                    ": {} (ld.hugetlbfs(1) aligns it)",
                    Reason::Small.reason()
                )
            }
            Some(why) if Some(why) != small && measure.huge < measure.whole => {
                write!(f, ": {}", why.reason())
            }
            _ if measure.huge < measure.whole => f.write_str(": the kernel had no huge page"),
            _ => write!(f, ": {}", reasons::EDGES),
        }
    }
}

/// Formats why the main stack isn't on huge pages.
fn because_of_stack(measure: Measure, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let needed = measure.whole + facts::thp_size() as u64;
    match (thp::serves_private(), sys::stack_limit()) {
        _ if sys::is_under_valgrind() => f.write_str(": valgrind has a stack of its own"),
        (Err(why), _) => write!(f, ": {}", why.reason()),
        (_, Ok(limit)) if (limit as u64) < needed => write!(
            f,
            ": a stack of {} kB is too small (to have a larger one: ulimit -s {})",
            limit >> 10,
            needed >> 10
        ),
        _ if measure.huge < measure.whole => f.write_str(": the kernel had no huge page"),
        _ => f.write_str(": the part in use at the start is on base pages"),
    }
}

fn measure_stack() {
    let Some((mapping, whole)) = stack::main_stack() else {
        return;
    };
    let mut measure = Measure {
        whole: whole as u64,
        ..Measure::default()
    };
    let _ = scratch::with_file(c"/proc/self/smaps", |smaps| {
        let is_stack = |record: &Record<'_>| record.start == mapping.start as u64;
        for record in records(smaps).filter(is_stack) {
            let pmd = facts::thp_size() as u64;
            let range = record.start..record.end;
            let row = segment::piece(&record, range, pmd, Segment::Stack, None);
            measure.all = row.resident.max(measure.whole);
            measure.huge = row.huge_bytes();
        }
    });
    measure.note(Segment::Stack);
}

fn measure_program(config: &Config) {
    objects::each(|object| {
        if object.is_program {
            measure(object, config);
        }
        ControlFlow::Break(())
    });
}

fn measure(object: &Object<'_>, config: &Config) {
    let mut sums = [Measure::default(); 3];
    // The file's own huge pages can't cover the last, partial huge page of the segment.
    let (mut whole_in_file, mut uses_file_pages) = (0, false);
    let loads = || loads(object.headers, object.base, sys::page_size());
    for load in loads() {
        for (part, sum) in parts(&load).into_iter().zip(indexes(&load)) {
            sums[sum].all += part.len() as u64;
        }
        let Some(pages) = pages_for(&load, config) else {
            continue;
        };
        let page = Rungs::of(pages).smallest();
        for (part, sum) in parts(&load).into_iter().zip(indexes(&load)) {
            let whole = tail::extended(&load, page).inner(page);
            let part = part.start.max(whole.start)..part.end.min(whole.end);
            sums[sum].whole += part.len() as u64;
        }
        if !load.is_writable() {
            whole_in_file += load.inner(page).len() as u64;
        }
        let is_required = |segment| config.require.has(segment);
        if load.is_writable() && (is_required(Segment::Bss) || is_required(Segment::Data)) {
            data::populate(&load);
        }
    }
    let _ = scratch::with_file(c"/proc/self/smaps", |smaps| {
        for record in records(smaps) {
            for load in loads() {
                for (part, sum) in parts(&load).into_iter().zip(indexes(&load)) {
                    let start = record.start.max(part.start as u64);
                    let end = record.end.min(part.end as u64);
                    if start < end {
                        let pmd = facts::thp_size() as u64;
                        let row =
                            segment::piece(&record, start..end, pmd, FILE_SEGMENTS[sum], None);
                        sums[sum].huge += row.huge_bytes();
                        uses_file_pages |= sum == 0 && record.file_huge > 0;
                    }
                }
            }
        }
    });
    if uses_file_pages {
        sums[0].whole = whole_in_file;
    }
    for (segment, measure) in FILE_SEGMENTS.into_iter().zip(sums) {
        measure.note(segment);
    }
}

/// Returns the part with the file's contents, then the bss.
fn parts(load: &Load) -> [Range<usize>; 2] {
    let range = &load.range;
    let middle = match load.is_writable() {
        true => load.file_end.clamp(range.start, range.end),
        false => range.end,
    };
    [range.start..middle, middle..range.end]
}

/// Returns each part's index in [`FILE_SEGMENTS`].
fn indexes(load: &Load) -> [usize; 2] {
    match load.is_writable() {
        true => [1, 2],
        false => [0, 0],
    }
}

/// Why heap, private mappings or shared memory can't get the requested pages.
enum Unavailable {
    /// Without libhugetlbfs_heap.so.
    NoHeapLibrary,
    OwnAllocator(host_malloc::Reason),
    /// The pool of this page size gives no page.
    Pool(usize),
    /// `None` if the kernel gave none or can't tell.
    Thp(Option<NoThp>),
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unavailable::NoHeapLibrary => f.write_str("libhugetlbfs_heap.so is not loaded"),
            Unavailable::OwnAllocator(reason) => {
                write!(f, "the program has its own allocator ({reason})")
            }
            Unavailable::Pool(size) => write!(
                f,
                "this process gets no page of the pool of {} pages (to grow it: hugeadm --pool-pages-min)",
                SizeName(*size)
            ),
            Unavailable::Thp(Some(why)) => f.write_str(why.reason()),
            Unavailable::Thp(None) => f.write_str(
                "the kernel has no transparent huge page now, or cannot tell (before Linux 6.1)",
            ),
        }
    }
}

fn probe_heap(config: &Config) -> Result<(), Unavailable> {
    let pages = config.heap.filter(|_| marker::has_heap());
    let pages = pages.ok_or(Unavailable::NoHeapLibrary)?;
    if let Some(reason) = host_malloc::reason() {
        return Err(Unavailable::OwnAllocator(reason));
    }
    let rungs = Rungs::of(pages);
    let Some(first) = rungs.first else {
        return probe_thp();
    };
    let mut sizes = [Some(first), rungs.second].into_iter().flatten();
    let is_available = |size: usize| Staging::from_pool(size, size).is_ok();
    sizes
        .any(is_available)
        .then_some(())
        .ok_or(Unavailable::Pool(first))
}

fn probe_thp() -> Result<(), Unavailable> {
    thp::serves_private().map_err(|why| Unavailable::Thp(Some(why)))?;
    let size = facts::thp_size();
    let staging = Staging::transparent(size).map_err(|_| Unavailable::Thp(None))?;
    let scarce = Unavailable::Thp(Some(NoThp::Scarce));
    let populated = staging.ok_or(scarce)?.populate();
    populated.map_err(|_| Unavailable::Thp(None))
}

fn probe_shm(config: &Config) -> Result<(), Unavailable> {
    let Some(size) = config.shm.and_then(|pages| Rungs::of(pages).first) else {
        return thp::serves_shared().map_err(|why| Unavailable::Thp(Some(why)));
    };
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let at = hugetlb_pool::map_shared(size, prot, size).map_err(|_| Unavailable::Pool(size))?;
    let populated = match constraints::may_limit(size) {
        true => populate::shared(at, size, size),
        false => Ok(()),
    };
    // SAFETY: mapped above; no other code has the address.
    let _ = unsafe { sys::munmap(at, size) };
    populated.map_err(|_| Unavailable::Pool(size))
}
