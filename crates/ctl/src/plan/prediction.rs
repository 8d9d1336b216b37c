//! Predicts the pages of each segment by the ladder. Segments take pages of the pools in the order
//! of a start: text, data with bss, then growing memory.

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

/// Room for a copy of text, in multiples of its size. [`ThpFacts::has_room`] doubles it, so text is
/// copied only if the memory control group leaves 8 times its size: the original stays in memory.
const COPY: u64 = 4;

/// Where memory comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Rung {
    Pool,
    Thp,
    /// Huge pages of the page cache: the file's own.
    File,
    Base,
    /// Nowhere: requests fail.
    None,
}

/// One rung of a segment.
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
    /// Huge pages by page size; for growing memory, those that the pool has.
    pub(crate) pages: BTreeMap<u64, u64>,
    /// Whether a mapping gets all of its pages or none: the kernel refuses a shared mapping that it
    /// cannot reserve whole.
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

/// Segments that get less than requested, for the same reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Short {
    pub(crate) subject: Subject,
    /// The reasons, one for each short rung.
    pub(crate) reasons: Vec<Reason>,
    /// The rung that takes the rest, and the page size if it is a pool.
    pub(crate) next: (ladder::Rung, u64),
}

impl Short {
    /// Whether one sentence can describe both.
    fn is_like(&self, other: &Short) -> bool {
        let same = (&self.reasons, self.next) == (&other.reasons, other.next);
        same && self.is_certain() == other.is_certain()
    }

    /// Whether it certainly affects the program. The library warns about shared memory at its first
    /// use, unless the machine can never serve it.
    pub(crate) fn is_certain(&self) -> bool {
        use ladder::NoThp::Absent;
        let is_never = |reason: &Reason| {
            let never = [Reason::NoPool, Reason::Excluded, Reason::Thp(Absent)];
            never.contains(reason)
        };
        self.subject != Subject::SHM || self.reasons.iter().any(is_never)
    }

    /// Whether it depends on the machine, not only on the program's file.
    fn is_of_machine(&self) -> bool {
        let is_of_file = |reason: &Reason| matches!(reason, Reason::TooSmall { .. });
        !self.reasons.iter().all(is_of_file)
    }
}

/// The pages of all segments.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prediction {
    pub(crate) rows: Vec<Row>,
    pub(crate) shorts: Vec<Short>,
    /// Pages that each pool lacks for all segments, by page size. Key 0 has the bytes that the
    /// memory control group must leave for transparent huge pages.
    pub(crate) missing: BTreeMap<u64, u64>,
    /// All rungs of each segment, needed or not.
    pub(crate) rungs: Vec<(Subject, Rungs)>,
    /// Segments that get transparent huge pages.
    pub(crate) on_thp: Subject,
}

impl Prediction {
    /// Predicts all segments. `is_reached`: whether the program itself gets anything. If not, the
    /// shortfalls are those of its children.
    pub(crate) fn new(findings: &Findings, is_reached: bool) -> Prediction {
        let mut predictor = Predictor {
            findings,
            is_reached,
            taken: BTreeMap::new(),
            found: Prediction::default(),
        };
        let (asked, served) = (&findings.asked, &findings.served);
        if let Some(target) = &findings.look.target {
            if let Some(pages) = asked.text {
                predictor.text(target, pages);
            }
            if let Some(pages) = asked.data {
                predictor.data(target, pages);
            }
        }
        predictor.growing(Segment::Heap, asked.heap, served.heap);
        predictor.growing(Segment::Shm, asked.shm, served.shm);
        predictor.growing(Segment::Anon, asked.anon, served.anon);
        predictor.growing(Segment::Stack, asked.stack, served.stack);
        predictor.found
    }

    /// Returns the segments that hugectl warns about, so that the library doesn't.
    pub(crate) fn warned(&self) -> Subject {
        let shorts = self.shorts.iter();
        let warned = shorts.filter(|short| short.is_certain() && short.is_of_machine());
        warned.fold(Subject::NONE, |all, short| all | short.subject)
    }
}

struct Predictor<'a> {
    findings: &'a Findings,
    is_reached: bool,
    /// Pages taken from each pool so far.
    taken: BTreeMap<PageSize, u64>,
    found: Prediction,
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
            Segment::Text | Segment::Data => {
                self.kernel().filter.copy_barred(segment == Segment::Text)
            }
            _ => None,
        };
        let facts = Facts {
            pools: &self.pools(segment, pages, by_libc),
            pool_barred: match segment {
                Segment::Text => self.kernel().filter.file_barred(),
                _ => copy_barred,
            },
            copy_barred,
            thp: self.thp(segment),
        };
        let wish = Wish {
            pool: pages != Pages::Thp,
            fallback: match pages {
                // glibc steps down by itself.
                Pages::Thp if by_libc => Fallback::Thp,
                _ if by_libc => Fallback::Base,
                _ => served.fallback,
            },
            is_strict: !is_of_file && served.require.share(segment) == Some(Share::Whole),
            bytes,
            grows: !is_of_file,
            room: if segment == Segment::Text { COPY } else { 1 },
        };
        ladder::ladder(&facts, &wish)
    }

    /// Returns the pools of the segment; shared memory has one. `HUGETLB_LIMIT` applies neither to
    /// shared memory nor to glibc's heap.
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
            // These move before the program disables transparent huge pages.
            Segment::Text | Segment::Data | Segment::Bss => private,
            _ => ThpFacts {
                is_disabled: private.is_disabled || self.kernel().thp_banned,
                ..private
            },
        }
    }

    /// Takes the segment's pages from the pools, and records a shortfall.
    fn take_and_record(&mut self, subject: Subject, rungs: Rungs) {
        let found = &mut self.found;
        found.rungs.push((subject, rungs));
        for step in rungs.steps() {
            // The size of growing memory is unknown.
            if let Some(size) = PageSize::new(step.size).filter(|_| subject.is_of_file()) {
                *self.taken.entry(size).or_default() += step.bytes / size.get();
            }
            let missing = found.missing.entry(step.size).or_default();
            *missing = missing.saturating_add(step.missing);
            let is_thp = step.rung == ladder::Rung::Thp && step.bytes > 0;
            found.on_thp = found.on_thp | subject.when(is_thp);
        }
        let Some(next) = rungs.below_short() else {
            return;
        };
        let mut reasons: Vec<Reason> = rungs.steps().iter().filter_map(|s| s.reason).collect();
        reasons.dedup();
        let short = Short {
            subject,
            reasons,
            next: (next.rung, next.size),
        };
        match found.shorts.iter_mut().find(|old| old.is_like(&short)) {
            Some(old) => old.subject = old.subject | subject,
            None => found.shorts.push(short),
        }
    }

    /// Predicts a segment that grows as the program runs.
    fn growing(&mut self, segment: Segment, asked: Option<Pages>, served: Option<Pages>) {
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
            self.found.rows.push(Row {
                pages: Some(pages).filter(|_| is_pool).into_iter().collect(),
                whole: is_pool && segment == Segment::Shm,
                ..row(segment, asked, Some(rung).filter(|_| is_known))
            });
        }
        if steps.is_empty() {
            let rung = Some(Rung::Base).filter(|_| is_known);
            self.found.rows.push(row(segment, asked, rung));
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
