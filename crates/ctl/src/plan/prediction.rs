//! Predicts the pages of each segment. At a start, segments take pool pages in this order: text,
//! data with bss, then growing memory.

mod of_file;

use std::collections::BTreeMap;

use hugetools_contract::env::{Fallback, Limit, Pages, Share};
use hugetools_contract::ladder::{self, Facts, Reason, Rungs, ThpFacts, Wish};
use hugetools_contract::segment::Segment;
use hugetools_model::{Bytes, PageSize};
use serde::{Serialize, Serializer};

use crate::probe::Findings;
use crate::probe::heap_engine::Engine;
use crate::probe::kernel::{Kernel, Source, USEFUL};
use crate::probe::target::Image;
use crate::say::subject::Subject;

/// Memory that a copy of text needs, in multiples of its size. [`ThpFacts::has_room`] doubles it:
/// the library copies text only if the memory control group leaves 8 times its size.
const TEXT_COPY_ROOM: u64 = 4;

/// The source of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rung {
    Pool,
    Thp,
    /// Huge pages of the page cache.
    File,
    Base,
    /// Requests fail.
    None,
}

/// One rung of a segment: a line of the prediction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Row {
    #[serde(serialize_with = "name")]
    pub(crate) segment: Segment,
    /// The file of text, data and bss.
    pub(crate) object: Option<String>,
    /// The requested pages: `default`, `thp` or a size.
    pub(crate) asked: String,
    /// The source of the memory; `None` if unknown.
    pub(crate) rung: Option<Rung>,
    /// The mechanism, as reports name it.
    pub(crate) mechanism: Option<&'static str>,
    /// The bytes on this rung; `None` if the memory grows or wasn't measured.
    pub(crate) bytes: Option<u64>,
    /// Number of huge pages by page size; for growing memory, the pages that the pool can give.
    pub(crate) pages: BTreeMap<u64, u64>,
    /// Whether a mapping gets all of its pages or none: mmap fails if it cannot reserve all pages of
    /// a shared mapping.
    pub(crate) whole: bool,
    /// Whether `bytes` is an upper bound.
    #[serde(skip)]
    pub(crate) at_most: bool,
}

pub(super) fn name<S: Serializer>(segment: &Segment, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(segment.name())
}

impl From<ladder::Rung> for Rung {
    fn from(rung: ladder::Rung) -> Rung {
        match rung {
            ladder::Rung::Pool => Rung::Pool,
            ladder::Rung::Thp => Rung::Thp,
            ladder::Rung::Base => Rung::Base,
            ladder::Rung::Fail => Rung::None,
        }
    }
}

/// Segments that get less than requested, all for the same reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ShortSegments {
    pub(crate) subject: Subject,
    /// Why each short rung gives less.
    pub(crate) reasons: Vec<Reason>,
    /// The rung that takes the rest, and the page size if it is a pool.
    pub(crate) next: (ladder::Rung, u64),
}

impl ShortSegments {
    /// Whether one message can describe both.
    fn shares_message(&self, other: &ShortSegments) -> bool {
        let same = (&self.reasons, self.next) == (&other.reasons, other.next);
        same && self.is_certain() == other.is_certain()
    }

    /// Whether the program is certainly affected. Programs may never use shared memory, so this is
    /// false for it unless the machine can never serve it.
    pub(crate) fn is_certain(&self) -> bool {
        use ladder::NoThp::Absent;
        let is_never = |reason: &Reason| {
            let never = [Reason::NoPool, Reason::Excluded, Reason::Thp(Absent)];
            never.contains(reason)
        };
        self.subject != Subject::SHM || self.reasons.iter().any(is_never)
    }

    /// Whether the machine is a cause, not only the program's file.
    fn is_caused_by_machine(&self) -> bool {
        let is_file = |reason: &Reason| matches!(reason, Reason::TooSmall { .. });
        !self.reasons.iter().all(is_file)
    }
}

/// The predicted pages of all segments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prediction {
    pub(crate) rows: Vec<Row>,
    pub(crate) short_segments: Vec<ShortSegments>,
    /// Number of pages that each pool lacks, by page size. The value of key 0 is in bytes: what the
    /// memory control group must leave for transparent huge pages.
    pub(crate) missing: BTreeMap<u64, u64>,
    /// The rungs of each segment, also those that get no bytes.
    pub(crate) rungs: Vec<(Subject, Rungs)>,
    /// Segments that get transparent huge pages.
    pub(crate) on_thp: Subject,
}

impl Prediction {
    /// Predicts all segments. `is_reached` is false if the program itself gets no huge pages; then
    /// the prediction applies to its children.
    pub(crate) fn new(findings: &Findings, is_reached: bool) -> Prediction {
        let mut predictor = Predictor {
            findings,
            is_reached,
            taken: BTreeMap::new(),
            prediction: Prediction::default(),
        };
        let (asked, served) = (&findings.asked, &findings.served);
        if let Some(target) = &findings.look.target {
            if let Some(pages) = asked.text {
                predictor.predict_text(target, pages);
            }
            if let Some(pages) = asked.data {
                predictor.predict_data(target, pages);
            }
        }
        predictor.predict_growing(Segment::Heap, asked.heap, served.heap);
        predictor.predict_growing(Segment::Shm, asked.shm, served.shm);
        predictor.predict_growing(Segment::Anon, asked.anon, served.anon);
        predictor.predict_growing(Segment::Stack, asked.stack, served.stack);
        predictor.prediction
    }

    /// Returns the segments that hugectl warns about. The library doesn't repeat the warning.
    pub(crate) fn warned(&self) -> Subject {
        let short_segments = self.short_segments.iter();
        let warned =
            short_segments.filter(|short| short.is_certain() && short.is_caused_by_machine());
        warned.fold(Subject::NONE, |all, short| all | short.subject)
    }
}

struct Predictor<'a> {
    findings: &'a Findings,
    is_reached: bool,
    /// Pages taken from each pool so far.
    taken: BTreeMap<PageSize, u64>,
    prediction: Prediction,
}

impl Predictor<'_> {
    fn kernel(&self) -> &Kernel {
        &self.findings.kernel
    }

    fn rungs_for(&self, segment: Segment, pages: Pages, bytes: u64) -> Rungs {
        let served = self.findings.served;
        let is_of_file = Subject::of(segment).is_of_file();
        let by_libc = self.findings.decision.engine == Engine::Libc && segment == Segment::Heap;
        let copy_barred = match segment {
            Segment::Text | Segment::Data => self
                .kernel()
                .filter
                .refused_copy_call(segment == Segment::Text),
            _ => None,
        };
        let facts = Facts {
            pools: &self.pools(segment, pages, by_libc),
            pool_barred: match segment {
                Segment::Text => self.kernel().filter.refused_file_call(),
                _ => copy_barred,
            },
            copy_barred,
            thp: self.thp(segment),
        };
        let wish = Wish {
            pool: pages != Pages::Thp,
            fallback: match pages {
                // glibc falls back to base pages by itself.
                Pages::Thp if by_libc => Fallback::Thp,
                _ if by_libc => Fallback::Base,
                _ => served.fallback,
            },
            is_strict: !is_of_file && served.require.share(segment) == Some(Share::Whole),
            bytes,
            grows: !is_of_file,
            room: if segment == Segment::Text {
                TEXT_COPY_ROOM
            } else {
                1
            },
        };
        ladder::ladder(&facts, &wish)
    }

    /// Returns the pools for the segment; shared memory uses only one. `HUGETLB_LIMIT` excludes
    /// shared memory and glibc's heap.
    fn pools(&self, segment: Segment, pages: Pages, by_libc: bool) -> Vec<ladder::Pool> {
        let sizes = if segment == Segment::Shm { 1 } else { 2 };
        let sizes = self.kernel().pool_sizes(pages).take(sizes);
        let sources = sizes.filter_map(|size| self.kernel().of_size(size));
        let limit = self.findings.served.limit;
        let limit = limit.filter(|_| segment != Segment::Shm && !by_libc);
        let facts = |source: &Source| {
            let taken = self.taken.get(&source.pool.size).copied().unwrap_or(0);
            let quota = limit.map_or(u64::MAX, |limit| pages_within(limit, source));
            source.facts(quota, taken)
        };
        sources.map(facts).collect()
    }

    fn thp(&self, segment: Segment) -> ThpFacts {
        let private = self.kernel().private_thp();
        match segment {
            Segment::Shm => self.kernel().shared_thp(),
            // The library moves these before the program can disable transparent huge pages.
            Segment::Text | Segment::Data | Segment::Bss => private,
            _ => ThpFacts {
                is_disabled: private.is_disabled || self.kernel().thp_banned,
                ..private
            },
        }
    }

    /// Takes the segment's pages from the pools, and records a shortfall.
    fn take_and_record(&mut self, subject: Subject, rungs: Rungs) {
        let prediction = &mut self.prediction;
        prediction.rungs.push((subject, rungs));
        for step in rungs.steps() {
            // The final size of growing memory is unknown, so it takes nothing from later segments.
            if let Some(size) = PageSize::new(step.size).filter(|_| subject.is_of_file()) {
                *self.taken.entry(size).or_default() += step.bytes / size.get();
            }
            let missing = prediction.missing.entry(step.size).or_default();
            *missing = missing.saturating_add(step.missing);
            let is_thp = step.rung == ladder::Rung::Thp && step.bytes > 0;
            prediction.on_thp = prediction.on_thp | subject.when(is_thp);
        }
        let Some(next) = rungs.below_short() else {
            return;
        };
        let mut reasons: Vec<Reason> = rungs.steps().iter().filter_map(|s| s.reason).collect();
        reasons.dedup();
        let short = ShortSegments {
            subject,
            reasons,
            next: (next.rung, next.size),
        };
        match prediction
            .short_segments
            .iter_mut()
            .find(|old| old.shares_message(&short))
        {
            Some(old) => old.subject = old.subject | subject,
            None => prediction.short_segments.push(short),
        }
    }

    /// Predicts a segment that grows as the program runs.
    fn predict_growing(&mut self, segment: Segment, asked: Option<Pages>, served: Option<Pages>) {
        let Some(asked) = asked else {
            return;
        };
        let rungs = served.map(|pages| self.rungs_for(segment, pages, USEFUL.get()));
        if let Some(rungs) = rungs {
            self.take_and_record(Subject::of(segment), rungs);
        }
        let rungs = rungs.filter(|_| self.is_reached);
        let is_known = self.is_known();
        let steps = rungs.as_ref().map_or(&[][..], Rungs::steps);
        for step in steps.iter().filter(|step| step.bytes > 0) {
            let rung = Rung::from(step.rung);
            let pages = (step.size, step.pages);
            let is_pool = rung == Rung::Pool;
            self.prediction.rows.push(Row {
                pages: Some(pages).filter(|_| is_pool).into_iter().collect(),
                whole: is_pool && segment == Segment::Shm,
                ..row(segment, asked, Some(rung).filter(|_| is_known))
            });
        }
        if steps.is_empty() {
            let rung = Some(Rung::Base).filter(|_| is_known);
            self.prediction.rows.push(row(segment, asked, rung));
        }
    }

    /// Whether the program's file could be read, or no program is given.
    fn is_known(&self) -> bool {
        let target = self.findings.look.target.as_ref();
        target.is_none_or(|target| !matches!(target.image, Image::Unknown(_)))
    }
}

/// Returns how many pages of a pool one process may take.
fn pages_within(limit: Limit, source: &Source) -> u64 {
    let pool = &source.pool;
    match limit {
        Limit::Bytes(bytes) => bytes / pool.size.get(),
        Limit::Part(parts) => {
            let more = pool.overcommit.map_or(0, |pages| pages.get());
            let most = pool.minimum().get().saturating_add(more);
            most.checked_div(parts).unwrap_or(0)
        }
    }
}

fn row(segment: Segment, asked: Pages, rung: Option<Rung>) -> Row {
    Row {
        segment,
        object: None,
        asked: match asked {
            Pages::Default => "default".to_owned(),
            Pages::Thp => "thp".to_owned(),
            Pages::Size(bytes) => Bytes::new(bytes).to_string(),
        },
        rung,
        mechanism: match rung {
            Some(Rung::Pool) => Some("hugetlb"),
            Some(Rung::Thp) => Some("thp"),
            Some(Rung::File) => Some("file"),
            Some(Rung::Base | Rung::None) | None => None,
        },
        bytes: None,
        pages: BTreeMap::new(),
        whole: false,
        at_most: false,
    }
}
