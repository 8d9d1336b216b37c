//! `--require` before the program begins: code, data, bss and the main stack are measured; heap,
//! private mappings and shared memory are probed. If a requirement isn't met the program doesn't
//! begin.
#![expect(
    unsafe_code,
    reason = "unmaps what was mapped to see whether it can be"
)]

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
    let is_of_file = |segment| SEGMENTS.contains(&segment);
    if require.all().any(|(segment, _)| is_of_file(segment)) {
        measure_all(config);
    }
    if require.has(Segment::Stack) {
        measure_stack();
    }
    let refused = require.all().filter(|(segment, share)| {
        let met = match segment {
            Segment::Heap => heap(config).map_err(|why| refuse(*segment, *share, &why)),
            Segment::Anon => transparent().map_err(|why| refuse(*segment, *share, &why)),
            Segment::Shm => shm(config).map_err(|why| refuse(*segment, *share, &why)),
            _ => Measure::of(*segment).check(*segment, *share),
        };
        met.is_err()
    });
    // `count` visits all of them.
    let refused = refused.count();
    shared_page::note_required(met(&[], &mut NONE.clone()));
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

/// Room for all requirements.
pub(crate) const NONE: [Met; COUNT] = [Met {
    required: Required(Segment::Text, Share::Whole),
    bytes: 0,
    huge: 0,
    met: false,
}; COUNT];

const COUNT: usize = Require::SEGMENTS.len();

/// Returns the requirements with their state, for a report with these rows.
pub(crate) fn met<'a>(rows: &[Row<'_>], places: &'a mut [Met; COUNT]) -> &'a [Met] {
    let mut count = 0;
    let all = config::get().require.all();
    for ((segment, share), place) in all.zip(places.iter_mut()) {
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
        *place = Met {
            required: Required(segment, share),
            bytes,
            huge,
            met: !unmet::is_noted(segment)
                && (!is_measured || share.is_met(measure.huge, measure.whole, measure.all)),
        };
        count += 1;
    }
    &places[..count]
}

/// Segments of the program's file.
const SEGMENTS: [Segment; 3] = [Segment::Text, Segment::Data, Segment::Bss];

/// Segments that are measured before the program begins.
const MEASURABLE: [Segment; 4] = [Segment::Text, Segment::Data, Segment::Bss, Segment::Stack];

/// Bytes of each of [`MEASURABLE`]: all, in whole huge pages, on huge pages.
static MEASURED: [[AtomicU64; 3]; segment::ALL.len()] =
    [const { [const { AtomicU64::new(0) }; 3] }; segment::ALL.len()];

/// Bytes of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Measure {
    pub(crate) all: u64,
    pub(crate) whole: u64,
    pub(crate) huge: u64,
}

impl Measure {
    /// Returns the measurement made before the program began.
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
        let because = Because(segment, self);
        let (huge, of) = (huge / 1024, of / 1024);
        // In a variable, the temporaries of `format_args!` would be dropped too early (Rust 1.85).
        refuse(
            segment,
            share,
            &format_args!("{huge} of {of} kB {what} are on huge pages ({whole}.{tenth}%){because}"),
        );
        Err(())
    }
}

/// Formats why the rest isn't on huge pages.
struct Because(Segment, Measure);

impl fmt::Display for Because {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Because(segment, measure) = self;
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
        let is_it = |record: &Record<'_>| record.start == mapping.start as u64;
        for record in records(smaps).filter(is_it) {
            let pmd = facts::thp_size() as u64;
            let range = record.start..record.end;
            let row = segment::piece(&record, range, pmd, Segment::Stack, None);
            measure.all = row.resident.max(measure.whole);
            measure.huge = row.huge_bytes();
        }
    });
    measure.note(Segment::Stack);
}

fn measure_all(config: &Config) {
    objects::each(|object| {
        if object.is_program {
            measure(object, config);
        }
        ControlFlow::Break(())
    });
}

fn measure(object: &Object<'_>, config: &Config) {
    let mut sums = [Measure::default(); 3];
    // Huge pages of the file itself can't cover its last, partial page.
    let (mut in_file, mut is_of_file) = (0, false);
    let loads = || loads(object.headers, object.base, sys::page_size());
    for load in loads() {
        for (part, sum) in parts(&load).into_iter().zip(places(&load)) {
            sums[sum].all += part.len() as u64;
        }
        let Some(pages) = pages_for(&load, config) else {
            continue;
        };
        let page = Rungs::of(pages).smallest();
        for (part, sum) in parts(&load).into_iter().zip(places(&load)) {
            let whole = tail::extended(&load, page).inner(page);
            let part = part.start.max(whole.start)..part.end.min(whole.end);
            sums[sum].whole += part.len() as u64;
        }
        if !load.is_writable() {
            in_file += load.inner(page).len() as u64;
        }
        let is_required = |segment| config.require.has(segment);
        if load.is_writable() && (is_required(Segment::Bss) || is_required(Segment::Data)) {
            data::populate(&load);
        }
    }
    let _ = scratch::with_file(c"/proc/self/smaps", |smaps| {
        for record in records(smaps) {
            for load in loads() {
                for (part, sum) in parts(&load).into_iter().zip(places(&load)) {
                    let start = record.start.max(part.start as u64);
                    let end = record.end.min(part.end as u64);
                    if start < end {
                        let pmd = facts::thp_size() as u64;
                        let row = segment::piece(&record, start..end, pmd, SEGMENTS[sum], None);
                        sums[sum].huge += row.huge_bytes();
                        is_of_file |= sum == 0 && record.file_huge > 0;
                    }
                }
            }
        }
    });
    if is_of_file {
        sums[0].whole = in_file;
    }
    for (segment, measure) in SEGMENTS.into_iter().zip(sums) {
        measure.note(segment);
    }
}

/// Returns the part from the file, and the bss.
fn parts(load: &Load) -> [Range<usize>; 2] {
    let range = &load.range;
    let middle = match load.is_writable() {
        true => load.file_end.clamp(range.start, range.end),
        false => range.end,
    };
    [range.start..middle, middle..range.end]
}

/// Returns each part's index in [`SEGMENTS`].
fn places(load: &Load) -> [usize; 2] {
    match load.is_writable() {
        true => [1, 2],
        false => [0, 0],
    }
}

/// The reason a heap, mapping or shared memory can't begin on the requested pages.
enum CannotStart {
    NotOurs,
    Kept(host_malloc::Reason),
    /// The pool of this page size gives no page.
    Pool(usize),
    Transparent(Option<NoThp>),
}

impl fmt::Display for CannotStart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CannotStart::NotOurs => {
                f.write_str("malloc is not ours (libhugetlbfs_heap.so is not loaded)")
            }
            CannotStart::Kept(reason) => write!(f, "the program has its own allocator ({reason})"),
            CannotStart::Pool(size) => write!(
                f,
                "this process gets no page of the pool of {} pages (to grow it: hugeadm --pool-pages-min)",
                SizeName(*size)
            ),
            CannotStart::Transparent(Some(why)) => f.write_str(why.reason()),
            CannotStart::Transparent(None) => f.write_str(
                "the kernel has no transparent huge page now, or cannot tell (before Linux 6.1)",
            ),
        }
    }
}

fn heap(config: &Config) -> Result<(), CannotStart> {
    let pages = config.heap.filter(|_| marker::has_heap());
    let pages = pages.ok_or(CannotStart::NotOurs)?;
    if let Some(reason) = host_malloc::reason() {
        return Err(CannotStart::Kept(reason));
    }
    let rungs = Rungs::of(pages);
    let Some(first) = rungs.first else {
        return transparent();
    };
    let mut sizes = [Some(first), rungs.second].into_iter().flatten();
    let is_available = |size: usize| Staging::from_pool(size, size).is_ok();
    sizes
        .any(is_available)
        .then_some(())
        .ok_or(CannotStart::Pool(first))
}

fn transparent() -> Result<(), CannotStart> {
    thp::serves_private().map_err(|why| CannotStart::Transparent(Some(why)))?;
    let size = facts::thp_size();
    let staging = Staging::transparent(size).map_err(|_| CannotStart::Transparent(None))?;
    let scarce = CannotStart::Transparent(Some(NoThp::Scarce));
    let populated = staging.ok_or(scarce)?.populate();
    populated.map_err(|_| CannotStart::Transparent(None))
}

fn shm(config: &Config) -> Result<(), CannotStart> {
    let Some(size) = config.shm.and_then(|pages| Rungs::of(pages).first) else {
        return thp::serves_shared().map_err(|why| CannotStart::Transparent(Some(why)));
    };
    let prot = libc::PROT_READ | libc::PROT_WRITE;
    let at = hugetlb_pool::map_shared(size, prot, size).map_err(|_| CannotStart::Pool(size))?;
    let populated = match constraints::may_limit(size) {
        true => populate::shared(at, size, size),
        false => Ok(()),
    };
    // SAFETY: mapped above; no other code has the address.
    let _ = unsafe { sys::munmap(at, size) };
    populated.map_err(|_| CannotStart::Pool(size))
}
