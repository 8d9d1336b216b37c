//! Predicts text, data and bss, whose size is known before the start.

use hugetools_contract::env::Pages;
use hugetools_contract::ladder::{self, Rungs};
use hugetools_contract::segment::Segment;
use hugetools_model::Bytes;

use super::{Predictor, Row, Rung, row};
use crate::probe::target::elf_layout::Part;
use crate::probe::target::{Image, Target};
use crate::say::subject::Subject;

/// The share of a segment on one rung.
#[derive(Clone, Copy)]
struct Taken {
    rung: Rung,
    size: u64,
    bytes: u64,
}

impl Predictor<'_> {
    pub(super) fn predict_text(&mut self, target: &Target, asked: Pages) {
        let (parts, served) = (&self.findings.parts, self.findings.served);
        let Some(part) = parts.text else {
            return self.unmeasured(&[Segment::Text], target, asked);
        };
        let own = parts.own(target).get();
        let mut taken = Vec::new();
        // Needs no library: the kernel maps huge pages of the page cache.
        if self.is_reached && (served.text.is_some() || target.image == Image::Static) {
            let (rung, size) = (Rung::File, part.size.get());
            taken.push(Taken {
                rung,
                size,
                bytes: own,
            });
        }
        let rest = part.pages.get().saturating_sub(own);
        if let Some(pages) = served.text.filter(|_| rest > 0) {
            let rungs = self.rungs_for(Segment::Text, pages, rest);
            // If the page cache serves the rest, a partial last page is no shortfall.
            if parts.needs(target, served) > Bytes::default() {
                self.take_and_record(Subject::TEXT, rungs);
            }
            taken.extend(self.taken_of(&rungs, part));
        }
        self.add(
            Segment::Text,
            target,
            asked,
            &taken,
            (part.all.get(), part.exact),
        );
    }

    /// Predicts data and bss, which share a LOAD header. If a seccomp filter refuses `mremap`, data
    /// stays, but bss still gets transparent huge pages: it needs no copy.
    pub(super) fn predict_data(&mut self, target: &Target, asked: Pages) {
        let Some(part) = self.findings.parts.data else {
            return self.unmeasured(&[Segment::Data, Segment::Bss], target, asked);
        };
        let (all, inner) = target.layout.initialised(part.size);
        let (whole, inner) = (part.pages.get(), inner.get());
        let (mut data, mut bss) = (Vec::new(), Vec::new());
        if let Some(pages) = self.findings.served.data.filter(|_| whole > 0) {
            let rungs = self.rungs_for(Segment::Data, pages, whole);
            self.take_and_record(Subject::DATA, rungs);
            (data, bss) = split(&self.taken_of(&rungs, part), inner);
            if self.kernel().filter.refused_copy_call(false).is_some() {
                let rest = whole.saturating_sub(inner);
                let rungs = self.rungs_for(Segment::Bss, Pages::Thp, rest - rest % part.size.get());
                bss = self.taken_of(&rungs, part);
            }
        }
        let rest = part.all.get().saturating_sub(all.get());
        self.add(Segment::Data, target, asked, &data, (all.get(), part.exact));
        self.add(Segment::Bss, target, asked, &bss, (rest, part.exact));
    }

    /// Returns the huge pages that a segment takes; none if only children are served.
    fn taken_of(&self, rungs: &Rungs, part: Part) -> Vec<Taken> {
        let steps = rungs.steps().iter().filter(|_| self.is_reached);
        let huge = steps.filter(|step| matches!(step.rung, ladder::Rung::Pool | ladder::Rung::Thp));
        let taken = huge.map(|step| Taken {
            rung: Rung::from(step.rung),
            size: if step.size > 0 {
                step.size
            } else {
                part.size.get()
            },
            bytes: step.bytes,
        });
        taken.collect()
    }

    /// Adds the rows of a segment: huge pages, then base pages. `is_exact` is false if the huge
    /// pages are an upper bound.
    fn add(
        &mut self,
        segment: Segment,
        target: &Target,
        asked: Pages,
        taken: &[Taken],
        (all, is_exact): (u64, bool),
    ) {
        let object = target.program.display().to_string();
        let huge = taken.iter().filter(|taken| taken.bytes > 0);
        let sum = huge.clone().map(|taken| taken.bytes).sum::<u64>();
        let rows = huge.map(|one| Row {
            at_most: !is_exact,
            ..of_file(segment, object.clone(), asked, *one)
        });
        self.prediction.rows.extend(rows);
        let bytes = all.saturating_sub(sum);
        if bytes > 0 || sum == 0 {
            let (rung, size) = (Rung::Base, 0);
            let row = of_file(segment, object, asked, Taken { rung, size, bytes });
            self.prediction.rows.push(row);
        }
    }

    /// Adds rows for unmeasured segments: the huge page size is unknown or the file unreadable.
    fn unmeasured(&mut self, segments: &[Segment], target: &Target, asked: Pages) {
        let rung = Some(Rung::Base).filter(|_| self.is_known());
        let rows = segments.iter().map(|segment| Row {
            object: Some(target.program.display().to_string()),
            ..row(*segment, asked, rung)
        });
        self.prediction.rows.extend(rows);
    }
}

/// Splits the huge pages into those of data, the first `data` bytes, and those of bss.
fn split(taken: &[Taken], mut data: u64) -> (Vec<Taken>, Vec<Taken>) {
    let pairs = taken.iter().map(|one| {
        let bytes = one.bytes.min(data);
        data -= bytes;
        let rest = one.bytes - bytes;
        (
            Taken { bytes, ..*one },
            Taken {
                bytes: rest,
                ..*one
            },
        )
    });
    pairs.unzip()
}

fn of_file(segment: Segment, object: String, asked: Pages, taken: Taken) -> Row {
    let pages = match segment {
        _ if taken.rung == Rung::Base => 0,
        // A page that data and bss share counts for data.
        Segment::Bss => taken.bytes.checked_div(taken.size).unwrap_or(0),
        _ => taken.bytes.div_ceil(taken.size.max(1)),
    };
    let pages = Some((taken.size, pages)).filter(|(_, pages)| *pages > 0);
    Row {
        object: Some(object),
        bytes: Some(taken.bytes),
        pages: pages.into_iter().collect(),
        ..row(segment, asked, Some(taken.rung))
    }
}
