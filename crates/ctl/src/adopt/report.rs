//! The result for a process: memory before and after, and reasons for memory left on base pages.

use std::collections::BTreeMap;
use std::fmt::Write;

use hugetools_contract::report::Tenths;
use hugetools_contract::segment::{ALL, Segment};
use hugetools_model::process::Pid;
use serde::Serialize;

use super::apply::Outcome;
use super::memory::{Area, Huge, Memory};
use super::reason::Reason;

/// Memory at one moment, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(crate) struct Amount {
    pub(crate) resident: u64,
    pub(crate) huge: Huge,
}

impl Amount {
    fn of(areas: &[Area], segment: Option<Segment>) -> Amount {
        let mut amount = Amount::default();
        let is_it = |area: &&Area| segment.is_none_or(|segment| area.segment == segment);
        for area in areas.iter().filter(is_it) {
            amount.resident += area.resident;
            for (size, bytes) in &area.huge {
                *amount.huge.entry(*size).or_default() += bytes;
            }
        }
        amount
    }

    /// Returns the bytes on huge pages of all sizes.
    pub(crate) fn huge(&self) -> u64 {
        self.huge.values().sum()
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Row {
    pub(crate) segment: &'static str,
    pub(crate) before: Amount,
    pub(crate) after: Amount,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Left {
    pub(crate) bytes: u64,
    pub(crate) reason: String,
    #[serde(skip)]
    is_short: bool,
}

/// The result for one process.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Adopted {
    pub(crate) pid: u32,
    pub(crate) exe: String,
    pub(crate) name: String,
    /// The requested segments before.
    pub(crate) before: Amount,
    /// The same afterwards; zero if the process has ended.
    pub(crate) after: Amount,
    /// Bytes that became huge.
    pub(crate) moved: u64,
    /// Bytes of huge pages that the kernel refused.
    pub(crate) refused: u64,
    pub(crate) segments: Vec<Row>,
    /// The memory on base pages afterwards, by reason.
    pub(crate) left: Vec<Left>,
    /// `ended` or `executes`, if the process ended or executed another program meanwhile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) gone: Option<&'static str>,
    /// Elapsed time; `None` for a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seconds: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cpu_seconds: Option<f64>,
}

/// Compares a process's memory before and after; `after` is `None` if it has ended.
pub(super) fn adopted(
    pid: Pid,
    before: &Memory,
    after: Option<&Memory>,
    outcome: &Outcome,
) -> Adopted {
    let gone = match after {
        None => Some("ended"),
        Some(after) if after.exe != before.exe => Some("executes"),
        Some(_) => None,
    };
    let areas = after.map_or(&[][..], |after| &after.areas);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (old, new) = (Amount::of(&before.areas, None), Amount::of(areas, None));
    let rows = ALL.map(|segment| Row {
        segment: segment.name(),
        before: Amount::of(&before.areas, Some(segment)),
        after: Amount::of(areas, Some(segment)),
    });
    let is_used = |row: &Row| row.before.resident + row.after.resident > 0;
    let refusals = outcome.left.values().filter(|reason| reason.is_refusal());
    Adopted {
        pid: pid.get(),
        exe: text(&before.exe),
        name: text(&before.name),
        // `MADV_COLLAPSE` also succeeds on memory that is huge already.
        moved: outcome.collapsed.min(new.huge().saturating_sub(old.huge())),
        refused: refusals.map(|_| before.size).sum(),
        before: old,
        after: new,
        segments: rows.into_iter().filter(is_used).collect(),
        left: left(areas, outcome),
        gone,
        seconds: None,
        cpu_seconds: None,
    }
}

/// Lists the memory on base pages by reason, largest first.
fn left(areas: &[Area], outcome: &Outcome) -> Vec<Left> {
    let mut sums: BTreeMap<Reason, u64> = BTreeMap::new();
    for area in areas {
        let mut rest = area.base();
        let mut take = |reason: Reason, bytes: u64| {
            let bytes = bytes.min(rest);
            rest -= bytes;
            *sums.entry(reason).or_default() += bytes;
        };
        for unit in &area.units {
            if let Some(reason) = outcome.left.get(&unit.start) {
                take(reason.clone(), unit.present);
            }
        }
        take(Reason::Edge, area.edges());
        take(Reason::Changed, u64::MAX);
    }
    let sums = sums.into_iter().filter(|(_, bytes)| *bytes > 0);
    let mut left: Vec<Left> = sums
        .map(|(reason, bytes)| Left {
            bytes,
            reason: reason.to_string(),
            is_short: reason.is_short(),
        })
        .collect();
    left.sort_by_key(|left| std::cmp::Reverse(left.bytes));
    left
}

impl Adopted {
    /// Whether less memory became huge than requested.
    pub fn is_short(&self) -> bool {
        self.left.iter().any(|left| left.is_short)
    }

    /// Formats a table, and a line for each reason.
    pub fn to_text(&self) -> String {
        let how = match self.seconds.zip(self.cpu_seconds) {
            Some((seconds, cpu)) => format!("{seconds:.1} s, {cpu:.1} s on a CPU"),
            None => "what would be done".to_owned(),
        };
        let mut text = format!("{}, process {}: {how}\n", self.exe, self.pid);
        text += "            resident kB                 huge kB\n";
        text += "segment          before        after        before        after   share\n";
        for row in &self.segments {
            text += &line(row.segment, &row.before, &row.after);
        }
        text += &line("all", &self.before, &self.after);
        let all = [self.moved, self.before.huge(), self.refused].map(|bytes| bytes / 1024);
        let [moved, already, refused] = all;
        let _ = writeln!(
            text,
            "moved {moved} kB, already huge {already} kB, refused {refused} kB"
        );
        for left in &self.left {
            let kib = left.bytes.div_ceil(1024);
            let _ = writeln!(text, "left {kib} kB: {}", left.reason);
        }
        text += match self.gone {
            None => "",
            Some("ended") => "it has ended meanwhile\n",
            Some(_) => "it executes another program by now\n",
        };
        text
    }
}

fn line(name: &str, before: &Amount, after: &Amount) -> String {
    let share = Tenths::of(after.huge(), after.resident);
    let [from, to] = [before, after].map(|amount| amount.resident / 1024);
    let [huge_from, huge_to] = [before, after].map(|amount| amount.huge() / 1024);
    format!("{name:<8} {from:>14} {to:>12} {huge_from:>13} {huge_to:>12}  {share:>5}%\n")
}
