//! Text, data and bss: their size is known before the start.

use hugetools_contract::env::Pages;
use hugetools_contract::ladder::{self, Rungs, Step};
use hugetools_contract::segment::Segment;
use hugetools_model::PageSize;

use super::{Predictor, Row, Rung, row};
use crate::probe::target::{Image, Target};

/// What a segment of a file takes.
struct Taken {
    rung: Rung,
    size: u64,
    bytes: u64,
}

impl Predictor<'_> {
    pub(super) fn text(&mut self, target: &Target) {
        let Some(asked) = self.findings.asked.text else {
            return;
        };
        let parts = &self.findings.parts;
        let Some(part) = parts.text else {
            return self.unmeasured("text", target, asked);
        };
        let served = self.findings.served.text;
        let (own, rest) = (parts.own(target), parts.needs(target, self.findings.served));
        let mut taken = Vec::new();
        // The kernel maps huge pages of the page cache by itself, without the library.
        let is_reached = self.is_reached && served.is_some();
        if is_reached || target.image == Image::Static {
            let (rung, size) = (Rung::File, part.size.get());
            let bytes = own.get();
            taken.push(Taken { rung, size, bytes });
        }
        if let Some(pages) = served.filter(|_| rest.get() > 0) {
            let rungs = self.climb(Segment::Text, pages, rest.get());
            taken.extend(self.of_file(&rungs));
        }
        self.add("text", target, asked, &taken, part.all.get(), !part.exact);
        self.libraries(asked);
    }

    /// The text of libraries: on huge pages of its files, or on base pages.
    fn libraries(&mut self, asked: Pages) {
        let target = self.findings.look.target.as_ref();
        let is_reached = self.is_reached && self.findings.served.text.is_some();
        for prepared in &self.findings.parts.prepared {
            if target.is_some_and(|target| target.program == prepared.job.path) {
                continue;
            }
            let taken = Taken {
                rung: match prepared.is_huge() && is_reached {
                    true => Rung::File,
                    false => Rung::Base,
                },
                size: prepared.job.size.get(),
                bytes: prepared.wanted.get(),
            };
            let object = Some(prepared.job.path.display().to_string());
            self.found
                .rows
                .push(of_file("text", object, asked, &taken, false));
        }
    }

    /// Data and bss are one segment to the kernel. Without `mremap` data cannot be moved,
    /// but bss can be advised.
    pub(super) fn data(&mut self, target: &Target) {
        let Some(asked) = self.findings.asked.data else {
            return;
        };
        let Some(part) = self.findings.parts.data else {
            self.unmeasured("data", target, asked);
            return self.unmeasured("bss", target, asked);
        };
        let (all, inner) = target.layout.initialised(part.size);
        let (whole, mut data) = (part.pages.get(), Vec::new());
        let mut bss = Vec::new();
        if let Some(pages) = self.findings.served.data.filter(|_| whole > 0) {
            let rungs = self.climb(Segment::Data, pages, whole);
            (data, bss) = split(&self.of_file(&rungs), inner.get());
            if self.kernel().copy_barred(false).is_some() && self.is_reached {
                let rest = whole.saturating_sub(inner.get());
                bss = self.advised_bss(pages, rest - rest % part.size.get());
            }
        }
        let rest = part.all.get().saturating_sub(all.get());
        self.add("data", target, asked, &data, all.get(), !part.exact);
        self.add("bss", target, asked, &bss, rest, !part.exact);
    }

    /// Bss that holds nothing yet needs no copy.
    fn advised_bss(&self, pages: Pages, bytes: u64) -> Vec<Taken> {
        let fallback = self.findings.served.fallback;
        let is_wanted = ladder::wants_thp(pages != Pages::Thp, fallback);
        let size = self.findings.parts.data.map_or(0, |part| part.size.get());
        let rung = Rung::Thp;
        let taken = Taken { rung, size, bytes };
        let is_served = is_wanted && self.kernel().serves_private();
        is_served.then_some(taken).into_iter().collect()
    }

    /// What the program's segment takes of the rungs.
    fn of_file(&self, rungs: &Rungs) -> Vec<Taken> {
        let parts = &self.findings.parts;
        let size = parts.text.or(parts.data).map_or(0, |part| part.size.get());
        let taken = |step: &Step| {
            let (rung, size) = match step.rung {
                ladder::Rung::Pool => (Rung::Pool, step.size),
                ladder::Rung::Thp => (Rung::Thp, size),
                ladder::Rung::Base | ladder::Rung::Fail => return None,
            };
            let bytes = step.bytes;
            Some(Taken { rung, size, bytes })
        };
        let steps = rungs.steps().iter().filter(|_| self.is_reached);
        steps.filter_map(taken).collect()
    }

    /// Adds the rows of a segment of a file: what is taken, then base pages.
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
        let sum = huge.clone().map(|taken| taken.bytes).sum::<u64>();
        let rows = huge.map(|one| of_file(segment, object(), asked, one, at_most));
        self.found.rows.extend(rows);
        let bytes = all.saturating_sub(sum);
        if bytes > 0 || sum == 0 {
            let (rung, size) = (Rung::Base, 0);
            let rest = Taken { rung, size, bytes };
            let row = of_file(segment, object(), asked, &rest, false);
            self.found.rows.push(row);
        }
    }

    /// A segment whose whole pages are unknown. It stays on base pages, unless even the
    /// file cannot be read.
    fn unmeasured(&mut self, segment: &'static str, target: &Target, asked: Pages) {
        let is_known = self.is_known();
        let part = PageSize::new(1 << 21).map(|size| match segment {
            "text" => target.layout.text(size).all.get(),
            "data" => target.layout.initialised(size).0.get(),
            _ => {
                let all = target.layout.data(size).all.get();
                all - target.layout.initialised(size).0.get().min(all)
            }
        });
        self.found.rows.push(Row {
            object: Some(target.program.display().to_string()),
            bytes: part.filter(|_| is_known),
            ..row(segment, asked, Some(Rung::Base).filter(|_| is_known))
        });
    }
}

/// Divides what is taken at the end of data.
fn split(taken: &[Taken], mut data: u64) -> (Vec<Taken>, Vec<Taken>) {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for &Taken { rung, size, bytes } in taken {
        let part = bytes.min(data);
        data -= part;
        let of = |bytes| Taken { rung, size, bytes };
        first.push(of(part));
        second.push(of(bytes - part));
    }
    (first, second)
}

fn of_file(
    segment: &'static str,
    object: Option<String>,
    asked: Pages,
    taken: &Taken,
    at_most: bool,
) -> Row {
    let pages = match segment {
        _ if taken.rung == Rung::Base => None,
        // A page that data and bss share counts for data.
        "bss" => taken.bytes.checked_div(taken.size),
        _ => (taken.size > 0).then(|| taken.bytes.div_ceil(taken.size)),
    };
    let pages = pages.filter(|pages| *pages > 0);
    Row {
        object,
        bytes: Some(taken.bytes),
        pages: pages.map(|pages| (taken.size, pages)).into_iter().collect(),
        at_most,
        ..row(segment, asked, Some(taken.rung))
    }
}
