//! What each segment would get, rung by rung: in the order in which a start
//! takes pages of the pools, text, then data with bss, then what grows.

use std::collections::BTreeMap;

use hugetools_contract::env::{Fallback, Pages, Share};
use hugetools_model::{Bytes, PageSize};

use super::{Row, Rung};
use crate::plan::{Plan, is_left_out, pages_within};
use crate::probe::Findings;
use crate::probe::heap_engine::Engine;
use crate::probe::kernel::{Kernel, USEFUL, Wants};
use crate::probe::preflight::COPY;
use crate::probe::target::{Image, Target};
use crate::request::Run;
use crate::say::subject::Subject;

/// The rows of all segments that are asked for.
pub(crate) fn rows(run: &Run, findings: &Findings, plan: &Plan) -> Vec<Row> {
    let nothing = |note: &crate::say::note::Note| {
        let short = note.shortfall.as_ref();
        short.is_some_and(|short| short.subject == Subject::ALL)
    };
    let is_barred = plan.notes.iter().any(nothing) || is_left_out(run, findings);
    let mut maker = Maker {
        findings,
        served: match is_barred {
            true => none_of(findings.served),
            false => findings.served,
        },
        pools: pools(findings),
        rows: Vec::new(),
    };
    if let Some(target) = &findings.look.target {
        maker.text(target);
        maker.data(target);
    }
    maker.growing("heap", findings.asked.heap, maker.served.heap);
    maker.growing("shm", findings.asked.shm, maker.served.shm);
    maker.growing("anon", findings.asked.anon, maker.served.anon);
    maker.growing("stack", findings.asked.stack, maker.served.stack);
    maker.rows
}

fn none_of(wants: Wants) -> Wants {
    Wants {
        heap: None,
        shm: None,
        anon: None,
        stack: None,
        text: None,
        data: None,
        ..wants
    }
}

/// The pages that can be had, by pool.
fn pools(findings: &Findings) -> BTreeMap<PageSize, u64> {
    let one = |source: &crate::probe::kernel::Source| {
        let size = source.pool.size;
        let (pages, _) = source.obtainable().pages(size);
        let most = findings
            .limit
            .map_or(u64::MAX, |limit| pages_within(limit, source));
        (size, pages.get().min(most))
    };
    findings.kernel.sources.iter().map(one).collect()
}

struct Maker<'a> {
    findings: &'a Findings,
    served: Wants,
    /// What is left of the pools.
    pools: BTreeMap<PageSize, u64>,
    rows: Vec<Row>,
}

/// A page size, where none matters.
const ANY: u64 = 1 << 21;

/// What a segment takes, from its beginning on.
struct Taken {
    rung: Rung,
    size: Option<PageSize>,
    bytes: u64,
}

impl Maker<'_> {
    fn kernel(&self) -> &Kernel {
        &self.findings.kernel
    }

    fn text(&mut self, target: &Target) {
        let Some(asked) = self.findings.asked.text else {
            return;
        };
        let Some(part) = self.findings.parts.text else {
            return self.untold("text", target, asked);
        };
        // The kernel maps huge pages of the page cache by itself.
        let own = match self.served.text.is_some() || target.image == Image::Static {
            true => self.findings.parts.own(target),
            false => Bytes::default(),
        };
        let wanted = self.wanted(asked, part.size);
        let whole = wanted.map_or(0, |size| target.layout.text(size).pages.get());
        let mut taken = vec![Taken {
            rung: Rung::File,
            size: Some(part.size),
            bytes: own.get(),
        }];
        let rest = whole.saturating_sub(own.get());
        // Its pages of a pool are those of a file.
        let served = match self.kernel().filter.bars_files() {
            true => self.served.text.map(|_| Pages::Thp),
            false => self.served.text,
        };
        let served = served.filter(|pages| {
            *pages != Pages::Thp || self.served.text.is_some_and(|text| self.comes_to_thp(text))
        });
        taken.extend(self.take(served, rest, COPY));
        if self.kernel().bars_copies(Subject::TEXT) {
            taken.retain(|taken| taken.rung != Rung::Thp);
        }
        self.add("text", target, asked, &taken, part.all.get(), !part.exact);
        self.libraries(asked);
    }

    fn libraries(&mut self, asked: Pages) {
        let target = self.findings.look.target.as_ref();
        let is_other = |path: &std::path::Path| target.is_none_or(|t| t.program != path);
        for prepared in &self.findings.parts.prepared {
            if !is_other(&prepared.job.path) {
                continue;
            }
            let rung = match prepared.is_huge() && self.served.text.is_some() {
                true => Rung::File,
                false => Rung::Base,
            };
            let size = self.findings.parts.text.map(|part| part.size);
            let object = Some(prepared.job.path.display().to_string());
            let taken = Taken {
                rung,
                size: size.filter(|_| rung == Rung::File),
                bytes: prepared.wanted.get(),
            };
            self.rows.push(row("text", object, asked, &taken, false));
        }
    }

    /// Data and bss are one segment to the kernel.
    fn data(&mut self, target: &Target) {
        let Some(asked) = self.findings.asked.data else {
            return;
        };
        let Some(part) = self.findings.parts.data else {
            self.untold("data", target, asked);
            return self.untold("bss", target, asked);
        };
        let size = self.wanted(asked, part.size);
        let whole = size.map_or(0, |size| target.layout.data(size).pages.get());
        let (all, inner) = target.layout.initialised(size.unwrap_or(part.size));
        let (data, bss) = match self.kernel().bars_copies(Subject::DATA) {
            false => split(&self.take(self.served.data, whole, 1), inner.get()),
            true => (Vec::new(), self.advised(whole - inner.get().min(whole))),
        };
        let rest = part.all.get().saturating_sub(all.get());
        self.add("data", target, asked, &data, all.get(), !part.exact);
        self.add("bss", target, asked, &bss, rest, !part.exact);
    }

    /// What can only be advised: memory that holds nothing yet.
    fn advised(&self, bytes: u64) -> Vec<Taken> {
        let size = self.findings.parts.data.map(|part| part.size);
        let pages = self.served.data.filter(|pages| self.comes_to_thp(*pages));
        let is_served = pages.is_some() && self.kernel().serves_private();
        let page = size.map_or(1, PageSize::get);
        let taken = Taken {
            rung: Rung::Thp,
            size,
            bytes: bytes - bytes % page,
        };
        is_served.then_some(taken).into_iter().collect()
    }

    /// The smallest huge pages that a segment may come to.
    fn wanted(&self, asked: Pages, size: PageSize) -> Option<PageSize> {
        let pools = self.kernel().ladder(asked);
        pools.chain([size]).min()
    }

    /// Takes so much of the pools and what follows them, for which a memory control group
    /// must have room so many times.
    fn take(&mut self, served: Option<Pages>, mut rest: u64, times: u64) -> Vec<Taken> {
        let mut taken = Vec::new();
        let Some(pages) = served else {
            return taken;
        };
        let sizes: Vec<PageSize> = self.kernel().ladder(pages).collect();
        for size in sizes {
            let left = self.pools.entry(size).or_default();
            let count = (*left).min(rest / size.get());
            *left -= count;
            let bytes = count.saturating_mul(size.get());
            rest -= bytes;
            let (rung, size) = (Rung::Pool, Some(size));
            taken.push(Taken { rung, size, bytes });
        }
        let thp = self.findings.parts.text.or(self.findings.parts.data);
        let size = thp.map(|part| part.size);
        let has_room = self.has_room(rest.saturating_mul(times));
        if self.comes_to_thp(pages) && self.kernel().serves_private() && has_room {
            taken.push(Taken {
                rung: Rung::Thp,
                size,
                bytes: rest,
            });
        }
        taken
    }

    fn comes_to_thp(&self, pages: Pages) -> bool {
        match self.served.fallback {
            Fallback::Thp => true,
            Fallback::None => pages == Pages::Thp,
            Fallback::Base => false,
        }
    }

    fn has_room(&self, bytes: u64) -> bool {
        self.kernel().has_room(Bytes::new(bytes))
    }

    /// The rows of a segment of a file: what is taken, then base pages.
    fn add(
        &mut self,
        segment: &'static str,
        target: &Target,
        asked: Pages,
        taken: &[Taken],
        all: u64,
        at_most: bool,
    ) {
        let object = || Some(target.program.display().to_string());
        let huge = taken.iter().filter(|taken| taken.bytes > 0);
        let sum = huge
            .clone()
            .fold(0u64, |sum, one| sum.saturating_add(one.bytes));
        let rows = huge.map(|one| row(segment, object(), asked, one, at_most));
        self.rows.extend(rows);
        let bytes = all.saturating_sub(sum);
        if bytes > 0 || sum == 0 {
            let (rung, size) = (Rung::Base, None);
            let rest = Taken { rung, size, bytes };
            self.rows.push(row(segment, object(), asked, &rest, false));
        }
    }

    fn untold(&mut self, segment: &'static str, target: &Target, asked: Pages) {
        let is_known = !matches!(target.image, Image::Unknown(_));
        let part = PageSize::new(ANY).map(|size| match segment {
            "text" => target.layout.text(size).all.get(),
            "data" => target.layout.initialised(size).0.get(),
            _ => {
                let all = target.layout.data(size).all.get();
                all - target.layout.initialised(size).0.get().min(all)
            }
        });
        self.rows.push(Row {
            segment,
            object: Some(target.program.display().to_string()),
            asked: word(asked),
            rung: is_known.then_some(Rung::Base),
            mechanism: None,
            bytes: part.filter(|_| is_known),
            pages: BTreeMap::new(),
            whole: false,
            at_most: false,
            shortfalls: Vec::new(),
        });
    }

    /// What grows as the program runs: the first rung, and what follows it
    /// where that is soon used up.
    fn growing(&mut self, segment: &'static str, asked: Option<Pages>, served: Option<Pages>) {
        let Some(asked) = asked else {
            return;
        };
        let mut rungs = Vec::new();
        let mut had = 0u64;
        if let Some(pages) = served {
            // Shared memory is of one pool.
            let sizes = if segment == "shm" { 1 } else { 2 };
            for size in self.kernel().ladder(pages).take(sizes) {
                let count = self.pools.get(&size).copied().unwrap_or(0);
                if count > 0 && had < USEFUL.get() {
                    had = had.saturating_add(count.saturating_mul(size.get()));
                    rungs.push((Rung::Pool, Some((size, count))));
                }
            }
        }
        if had < USEFUL.get() {
            rungs.push((self.last_rung(segment, served), None));
        }
        for (rung, pages) in rungs {
            let pages = pages.map(|(size, count)| (size.get(), count));
            self.rows.push(Row {
                segment,
                object: None,
                asked: word(asked),
                rung: Some(rung).filter(|_| self.is_told()),
                mechanism: mechanism(rung),
                bytes: None,
                pages: pages.into_iter().collect(),
                whole: segment == "shm" && rung == Rung::Pool,
                at_most: false,
                shortfalls: Vec::new(),
            });
        }
    }

    fn is_told(&self) -> bool {
        let target = self.findings.look.target.as_ref();
        target.is_none_or(|target| !matches!(target.image, Image::Unknown(_)))
    }

    /// What follows the pools.
    fn last_rung(&self, segment: &str, served: Option<Pages>) -> Rung {
        let Some(pages) = served else {
            return Rung::Base;
        };
        let is_strict = self
            .served
            .require
            .all()
            .any(|(required, share)| required.name() == segment && share == Share::Whole);
        // A heap that stays with libc is where that puts it: base pages follow its pool.
        let by_libc = segment == "heap" && self.findings.decision.engine == Engine::Libc;
        if by_libc && matches!(pages, Pages::Size(_)) {
            return Rung::Base;
        }
        if pages != Pages::Thp && (is_strict || self.served.fallback == Fallback::None) {
            return Rung::None;
        }
        // A heap that stays with libc is on transparent huge pages by its own.
        let is_ruled_out =
            self.served.fallback == Fallback::Base && !(by_libc && pages == Pages::Thp);
        let serves = match segment {
            "shm" => self.kernel().serves_shared(),
            _ => {
                let kernel = self.kernel();
                kernel.serves_private() && !kernel.thp_banned && kernel.has_room(USEFUL)
            }
        };
        match serves && !is_ruled_out {
            true => Rung::Thp,
            false if is_strict => Rung::None,
            false => Rung::Base,
        }
    }
}

/// What is taken, divided where data ends.
fn split(taken: &[Taken], mut data: u64) -> (Vec<Taken>, Vec<Taken>) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for &Taken { rung, size, bytes } in taken {
        let part = bytes.min(data);
        data -= part;
        first.push(Taken {
            rung,
            size,
            bytes: part,
        });
        let bytes = bytes - part;
        second.push(Taken { rung, size, bytes });
    }
    (first, second)
}

fn row(
    segment: &'static str,
    object: Option<String>,
    asked: Pages,
    taken: &Taken,
    at_most: bool,
) -> Row {
    let pages = taken.size.map(|size| {
        // A page that data and bss share counts for data.
        let pages = match segment {
            "bss" => taken.bytes / size.get(),
            _ => taken.bytes.div_ceil(size.get()),
        };
        (size.get(), pages)
    });
    let pages = pages.filter(|(_, pages)| *pages > 0);
    Row {
        segment,
        object,
        asked: word(asked),
        rung: Some(taken.rung),
        mechanism: mechanism(taken.rung),
        bytes: Some(taken.bytes),
        pages: pages.into_iter().collect(),
        whole: false,
        at_most,
        shortfalls: Vec::new(),
    }
}

fn mechanism(rung: Rung) -> Option<&'static str> {
    match rung {
        Rung::Pool => Some("hugetlb"),
        Rung::Thp => Some("thp"),
        Rung::File => Some("file"),
        Rung::Base | Rung::None => None,
    }
}

fn word(pages: Pages) -> String {
    match pages {
        Pages::Default => "default".to_owned(),
        Pages::Thp => "thp".to_owned(),
        Pages::Size(bytes) => Bytes::new(bytes).to_string(),
    }
}
