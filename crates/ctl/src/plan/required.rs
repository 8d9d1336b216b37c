//! `--require`: judges each required segment, as far as possible before the start. The program is
//! not started if one certainly fails; the library measures the others in the process.

use std::fmt;

use hugetools_contract::env::Share;
use hugetools_contract::report::reasons;
use hugetools_contract::segment::Segment;
use serde::Serialize;

use super::prediction::{Row, Rung, name};
use crate::probe::Findings;
use crate::probe::command_line::known_programs::KnownProgram;
use crate::probe::coverage::alignment::Parts;
use crate::probe::heap_engine::Engine;
use crate::probe::target::Target;
use crate::request::Run;
use crate::say::note::Note;
use crate::say::shortfall::Shortfall;
use crate::say::subject::Subject;

/// A required segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Required {
    #[serde(serialize_with = "name")]
    pub(crate) segment: Segment,
    /// The required percentage; `None` for all whole huge pages.
    pub(crate) percent: Option<u8>,
    /// The bytes that must be huge; `None` if the segment grows.
    pub(crate) bytes: Option<u64>,
    /// The bytes that will be huge, or an upper bound.
    pub(crate) huge: Option<u64>,
    /// Whether it is met; `None` if unknown before the start, or if meant for other programs.
    pub(crate) met: Option<bool>,
    /// The option or variable that names the programs, if it is meant for other programs.
    #[serde(skip)]
    program_list: Option<&'static str>,
}

impl Required {
    /// Whether it prevents the start.
    pub(crate) fn is_refused(&self) -> bool {
        self.met == Some(false)
    }
}

impl fmt::Display for Required {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.segment.name())?;
        match (self.percent, self.segment) {
            (Some(percent), _) => write!(f, ", {percent}%")?,
            (None, Segment::Heap | Segment::Shm | Segment::Anon) => f.write_str(", all")?,
            (None, _) => f.write_str(", all in whole huge pages")?,
        }
        if let (Some(huge), Some(bytes)) = (self.huge, self.bytes) {
            let at_most = match self.met {
                None => "at most ",
                Some(_) => "",
            };
            write!(f, ": {at_most}{} kB of {} kB", huge / 1024, bytes / 1024)?;
        }
        if let Some(list) = self.program_list {
            return write!(f, ": of programs that {list} names");
        }
        f.write_str(match (self.met, self.bytes) {
            (Some(true), Some(_)) => ": will be met",
            (Some(true), None) => ": the program is started; a request that falls short fails",
            (Some(false), _) => ": not met, the program is not started",
            (None, _) => ": measured at the start",
        })
    }
}

/// Judges the required segments by their predicted rows. `program_list` names other programs, if the
/// requirement is meant for those.
pub(super) fn judge(
    run: &Run,
    findings: &Findings,
    rows: &[Row],
    program_list: Option<&'static str>,
) -> Vec<Required> {
    let target = findings.look.target.as_ref();
    let one = |(segment, share): (Segment, Share)| {
        let mut required = Required {
            segment,
            percent: match share {
                Share::Percent(percent) => Some(percent),
                Share::Whole => None,
            },
            bytes: None,
            huge: None,
            met: None,
            program_list,
        };
        match (segment, target) {
            _ if program_list.is_some() => {}
            (Segment::Heap | Segment::Shm, _) => {
                required.met = Some(starts_as_requested(rows, segment));
            }
            (Segment::Anon, _) => {
                let known = findings.look.known.filter(|_| findings.look.has_own_memory);
                let is_unreachable = known.is_some_and(KnownProgram::anon_reaches_none);
                required.met = Some(has_thp(rows, segment) && !is_unreachable);
            }
            // Only the process knows the limit of its stack.
            (Segment::Stack, _) => required.met = Some(false).filter(|_| !has_thp(rows, segment)),
            (_, Some(target)) => of_file(&mut required, share, target, &findings.parts, rows),
            (_, None) => {}
        }
        required
    };
    run.require.all().map(one).collect()
}

/// Whether growing memory starts on the requested pages.
fn starts_as_requested(rows: &[Row], segment: Segment) -> bool {
    let first = rows.iter().find(|row| row.segment == segment);
    first.is_some_and(|row| match row.rung {
        Some(Rung::Pool) => true,
        Some(Rung::Thp) => row.asked == "thp",
        _ => false,
    })
}

fn has_thp(rows: &[Row], segment: Segment) -> bool {
    let mut of_segment = rows.iter().filter(|row| row.segment == segment);
    of_segment.any(|row| row.rung == Some(Rung::Thp))
}

/// Judges text, data or bss, whose size is known.
fn of_file(required: &mut Required, share: Share, target: &Target, parts: &Parts, rows: &[Row]) {
    let segment = required.segment;
    let rows = rows.iter().filter(|row| row.segment == segment);
    if rows.clone().any(|row| row.rung.is_none()) {
        return;
    }
    let huge = rows.clone().filter(|row| row.rung != Some(Rung::Base));
    let huge: u64 = huge.filter_map(|row| row.bytes).sum();
    let all: u64 = rows.filter_map(|row| row.bytes).sum();
    let (whole, is_exact) = whole(segment, target, parts);
    required.huge = Some(huge);
    required.bytes = Some(match share {
        Share::Whole => whole,
        Share::Percent(_) => all,
    });
    required.met = match share.is_met(huge, whole, all) {
        true if !is_exact => None,
        met => Some(met),
    };
}

/// Returns the bytes in whole huge pages, and whether that is exact or an upper bound.
fn whole(segment: Segment, target: &Target, parts: &Parts) -> (u64, bool) {
    let part = match segment {
        Segment::Text => parts.text,
        _ => parts.data,
    };
    let Some(part) = part else {
        return (0, true);
    };
    let inner = part.inner.get();
    let data = target.layout.initialised(part.size).1.get().min(inner);
    let whole = match segment {
        Segment::Text if parts.own(target).get() > 0 => part.full.get(),
        Segment::Text => inner,
        Segment::Data => data,
        _ => inner - data,
    };
    (whole, part.exact)
}

/// Returns why the program is not started, one line for each segment.
pub(super) fn refusals(
    run: &Run,
    engine: Engine,
    required: &[Required],
    notes: &[Note],
) -> Vec<String> {
    if !run.require.is_any() {
        return Vec::new();
    }
    let short = notes.iter();
    let short: Vec<&Shortfall> = short.filter_map(|note| note.shortfall.as_deref()).collect();
    if let Some(short) = short.iter().find(|short| short.subject == Subject::ALL) {
        let list = run.require;
        return vec![format!("--require={list} is not met: {}", cause(short))];
    }
    let refused = required.iter().filter(|required| required.is_refused());
    refused
        .map(|required| {
            let subject = Subject::of(required.segment);
            let why = short.iter().find(|short| short.subject.meets(subject));
            let why = why.map_or_else(|| required.reason(engine), |why| cause(why));
            format!("{}{why}", required.figure())
        })
        .collect()
}

impl Required {
    /// Returns the requirement and the predicted figure.
    fn figure(&self) -> String {
        let percent = self.percent.map(|percent| format!(":{percent}"));
        let percent = percent.unwrap_or_default();
        let text = format!("--require={}{percent} is not met: ", self.segment.name());
        let (Some(huge), Some(bytes @ 1..)) = (self.huge, self.bytes) else {
            return text;
        };
        let tenths = huge.saturating_mul(1000).checked_div(bytes).unwrap_or(0);
        let (whole, tenth) = (tenths / 10, tenths % 10);
        let (huge, bytes) = (huge / 1024, bytes / 1024);
        format!("{text}{huge} of {bytes} kB would be on huge pages ({whole}.{tenth}%): ")
    }

    /// Returns the reason for a refusal without a note.
    fn reason(&self, engine: Engine) -> String {
        match (self.segment, engine) {
            (Segment::Heap, Engine::Libc) => "the program's own glibc serves the heap".to_owned(),
            (Segment::Text | Segment::Data | Segment::Bss, _) => reasons::EDGES.to_owned(),
            _ => "no requested pages are available".to_owned(),
        }
    }
}

/// Returns the fact and the remedy, without the consequence.
fn cause(short: &Shortfall) -> String {
    let remedy = short.remedy.as_ref();
    let remedy = remedy.map(|remedy| format!("; {remedy}"));
    format!("{}{}", short.fact, remedy.unwrap_or_default())
}
