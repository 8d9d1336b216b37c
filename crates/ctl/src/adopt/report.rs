//! What came of it: figures before and after, and reasons for the rest.

use std::collections::BTreeMap;
use std::fmt::Write;

use hugetools_contract::report::Tenths;
use hugetools_contract::segment::{ALL, Segment};
use hugetools_model::Head;
use serde::Serialize;

use super::apply::Outcome;
use super::guard::Gone;
use super::memory::{Area, Huge, Memory};
use super::plan::Plan;
use super::reason::Reason;

/// Bytes at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Amount {
    /// In memory.
    pub resident: u64,
    /// On huge pages, by the size of these.
    pub huge: Huge,
}

impl Amount {
    fn add(&mut self, area: &Area) {
        self.resident += area.resident;
        for (size, bytes) in &area.huge {
            *self.huge.entry(*size).or_default() += bytes;
        }
    }

    /// All bytes on huge pages.
    pub fn huge(&self) -> u64 {
        self.huge.values().sum()
    }
}

/// A segment before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its name.
    pub segment: &'static str,
    /// Before.
    pub before: Amount,
    /// After.
    pub after: Amount,
}

/// What is left on base pages, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Left {
    /// How much.
    pub bytes: u64,
    /// Why.
    pub reason: String,
    #[serde(skip)]
    is_short: bool,
}

/// What came of one process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adopted {
    /// Its number.
    pub pid: u32,
    /// The path of its executable.
    pub exe: String,
    /// The name by which it goes.
    pub name: String,
    /// Of the segments that were asked for: before.
    pub before: Amount,
    /// After; nothing of a process that has ended.
    pub after: Amount,
    /// Bytes of huge pages that were put together.
    pub moved: u64,
    /// Bytes of huge pages that the kernel refused.
    pub refused: u64,
    /// Segment by segment.
    pub segments: Vec<Row>,
    /// What is on base pages; the sum is what `after` has besides huge pages.
    pub left: Vec<Left>,
    /// Whether it has ended meanwhile, or executes another program: `ended`,
    /// `executes`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gone: Option<&'static str>,
    /// How long it took; nothing where it only would be done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
    /// How long of that on processors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_seconds: Option<f64>,
}

/// The figures of a process, from what was found before and after.
pub(super) fn adopted(
    pid: u32,
    before: &Memory,
    after: Option<&Memory>,
    plan: &Plan,
    outcome: &Outcome,
) -> Adopted {
    let none: &[Area] = &[];
    let areas = after.map_or(none, |after| &after.areas);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (old, new) = (amount(&before.areas, None), amount(areas, None));
    let mut segments = Vec::new();
    for segment in ALL {
        let row = Row {
            segment: segment.name(),
            before: amount(&before.areas, Some(segment)),
            after: amount(areas, Some(segment)),
        };
        if row.before.resident + row.after.resident > 0 {
            segments.push(row);
        }
    }
    Adopted {
        pid,
        exe: text(&before.exe),
        name: text(&before.name),
        moved: match before.tells_huge() {
            true => outcome.done,
            // The kernel reports success for what was huge already, too.
            false => outcome.done.min(new.huge().saturating_sub(old.huge())),
        },
        refused: refused(outcome, before.size),
        before: old,
        after: new,
        segments,
        left: left(areas, plan, outcome),
        gone: outcome.gone.map(|gone| match gone {
            Gone::Ended => "ended",
            Gone::Executes => "executes",
        }),
        seconds: None,
        cpu_seconds: None,
    }
}

fn amount(areas: &[Area], segment: Option<Segment>) -> Amount {
    let mut amount = Amount::default();
    let is_it = |area: &&Area| segment.is_none_or(|segment| area.segment == segment);
    areas.iter().filter(is_it).for_each(|area| amount.add(area));
    amount
}

/// Bytes of the huge pages that the kernel refused.
fn refused(outcome: &Outcome, size: u64) -> u64 {
    let reasons = outcome.left.values();
    let refused = reasons.filter(|reason| reason.is_refusal());
    refused.fold(0, |sum: u64, _| sum.saturating_add(size))
}

/// Why memory is on base pages, and how much for each reason, most first.
fn left(areas: &[Area], plan: &Plan, outcome: &Outcome) -> Vec<Left> {
    let mut sums: BTreeMap<Reason, u64> = BTreeMap::new();
    for area in areas {
        of_area(area, plan, outcome, &mut sums);
    }
    let resident: u64 = areas.iter().map(|area| area.resident).sum();
    // A program that goes on always has something that came last.
    let is_much = |reason: &Reason, bytes: u64| *reason == Reason::Later && bytes > resident / 10;
    let mut left: Vec<Left> = sums
        .iter()
        .filter(|(_, bytes)| **bytes > 0)
        .map(|(reason, bytes)| Left {
            bytes: *bytes,
            reason: reason.to_string(),
            is_short: reason.is_short() || is_much(reason, *bytes),
        })
        .collect();
    left.sort_by_key(|left| std::cmp::Reverse(left.bytes));
    left
}

fn of_area(area: &Area, plan: &Plan, outcome: &Outcome, sums: &mut BTreeMap<Reason, u64>) {
    let mut rest = area.rest();
    let mut take = |reason: Reason, bytes: u64| {
        let bytes = bytes.min(rest);
        rest -= bytes;
        *sums.entry(reason).or_default() += bytes;
    };
    // The kernel counts whole mappings, so that a piece of one may have no place for
    // what is counted for it.
    let last = match (&area.obstacle, area.units.is_empty()) {
        (_, true) => Reason::Edge,
        (Some(reason), false) => reason.clone(),
        (None, false) => Reason::Later,
    };
    if area.obstacle.is_none() {
        for unit in area.units.iter().filter(|unit| unit.huge != Some(true)) {
            let reason = outcome.left.get(&unit.start);
            match reason.or_else(|| plan.left.get(&unit.start)) {
                Some(reason) => take(named(reason, area.segment), unit.touched.present),
                // It was put together, as far as is known.
                None if unit.huge.is_none() => {}
                None => take(Reason::Later, unit.touched.present),
            }
        }
    }
    take(Reason::Edge, area.edges);
    take(last, u64::MAX);
}

/// The reason in words of the segment: the kernel refuses the page cache of most file
/// systems.
fn named(reason: &Reason, segment: Segment) -> Reason {
    match (reason, segment) {
        (Reason::Refused(libc::EINVAL), Segment::Text | Segment::File) => Reason::File,
        _ => reason.clone(),
    }
}

impl Adopted {
    /// Whether less became huge than could have.
    pub fn is_short(&self) -> bool {
        self.left.iter().any(|left| left.is_short)
    }

    /// A table, and lines with reasons.
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        let how = match self.seconds.zip(self.cpu_seconds) {
            Some((seconds, cpu)) => format!("{seconds:.1} s, {cpu:.1} s on a CPU"),
            None => "what would be done".to_owned(),
        };
        let _ = writeln!(text, "{}, process {}: {how}", self.exe, self.pid);
        text += "            resident kB                 huge kB\n";
        text += "segment          before        after        before        after   share\n";
        let sum = Row {
            segment: "all",
            before: self.before.clone(),
            after: self.after.clone(),
        };
        for row in self.segments.iter().chain([&sum]) {
            let share = Tenths::of(row.after.huge(), row.after.resident);
            let name = row.segment;
            let resident = [&row.before, &row.after].map(|amount| amount.resident / 1024);
            let huge = [&row.before, &row.after].map(|amount| amount.huge() / 1024);
            let [before, after] = resident;
            let _ = write!(text, "{name:<8} {before:>14} {after:>12}");
            let [before, after] = huge;
            let _ = writeln!(text, " {before:>13} {after:>12}  {share:>5}%");
        }
        let all = [self.moved, self.before.huge(), self.refused].map(|bytes| bytes / 1024);
        let [moved, already, refused] = all;
        let _ = writeln!(
            text,
            "moved {moved} kB, already huge {already} kB, refused {refused} kB"
        );
        for left in &self.left {
            let _ = writeln!(
                text,
                "left {} kB: {}",
                left.bytes.div_ceil(1024),
                left.reason
            );
        }
        let gone = match self.gone {
            Some("ended") => "it has ended meanwhile",
            Some(_) => "it executes another program by now",
            None => return text,
        };
        let _ = writeln!(text, "{gone}");
        text
    }
}

/// All processes, as one document.
#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    head: &'a Head,
    processes: &'a [Adopted],
}

/// The document of all processes; on one line where more of them follow.
pub fn document(head: &Head, processes: &[Adopted], line: bool) -> String {
    let document = Document { head, processes };
    let text = match line {
        true => serde_json::to_string(&document),
        false => serde_json::to_string_pretty(&document),
    };
    text.unwrap_or_default() + "\n"
}

#[cfg(test)]
mod tests;
