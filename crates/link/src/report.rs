//! Reports the segments of a file: the lines of libhugetlbfs's hugeedit, then lines about a change
//! of alignment.

use std::fmt::Write;
use std::path::Path;

use hugetools_elf::{Edited, Role, Segment, Table};
use hugetools_model::Bytes;
use serde::Serialize;

use crate::file::Changed;

/// The segments of a file, and changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The architecture, as in `64-bit x86_64`.
    pub machine: String,
    /// Whether any byte of the file changed.
    pub changed: bool,
    /// The present segments.
    pub segments: Vec<Row>,
    /// Warnings.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// A segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Index in the program header table.
    pub index: usize,
    /// Its address.
    pub start: u64,
    /// Its end (exclusive).
    pub end: u64,
    /// `text`, `data` or neither.
    pub role: Option<&'static str>,
    /// Whether it asks for huge pages.
    pub huge: bool,
    /// Its alignment, in bytes.
    pub align: u64,
    /// Its alignment before, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align_before: Option<u64>,
    /// Why it couldn't be aligned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
}

impl Report {
    /// Reports an unchanged file.
    pub fn shown(table: &Table) -> Report {
        Report {
            machine: table.ident.to_string(),
            changed: false,
            segments: table.segments.iter().map(Row::new).collect(),
            notes: Vec::new(),
        }
    }

    /// Reports a changed file.
    pub fn changed(path: &Path, changed: &Changed) -> Report {
        let Changed { before, edited, .. } = changed;
        let mut report = Report::shown(&edited.table);
        report.changed = *before != edited.table;
        for (row, old) in report.segments.iter_mut().zip(&before.segments) {
            let unaligned = edited.unaligned.iter().find(|it| it.index == row.index);
            row.align_before = Some(old.load.align).filter(|align| *align != row.align);
            row.obstacle = unaligned.map(|it| it.to_string());
        }
        let notes = missing(edited).chain(unused_alignment(changed));
        let name = |note| format!("{}: {note}", path.display());
        report.notes = notes.map(name).collect();
        report
    }

    /// Formats the report for people.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for row in &self.segments {
            let role = row.role.unwrap_or_default().to_uppercase();
            let pages = if row.huge { "HUGE" } else { "BASE" };
            let _ = writeln!(
                out,
                "Segment {} {:#x} - {:#x} ({role}) default is {pages} pages",
                row.index, row.start, row.end
            );
        }
        for row in &self.segments {
            let (index, align) = (row.index, Bytes::new(row.align));
            if let Some(before) = row.align_before {
                let before = Bytes::new(before);
                let _ = writeln!(
                    out,
                    "Segment {index} is aligned to {align}, was to {before}"
                );
            }
            if let Some(why) = &row.obstacle {
                let _ = writeln!(out, "Segment {index} stays aligned to {align}: {why}");
            }
        }
        out
    }
}

impl Row {
    fn new(segment: &Segment) -> Row {
        Row {
            index: segment.index,
            start: segment.load.address,
            end: segment.load.end(),
            role: segment.role.map(Role::name),
            huge: segment.load.marked,
            align: segment.load.align,
            align_before: None,
            obstacle: None,
        }
    }
}

fn missing(edited: &Edited) -> impl Iterator<Item = String> + '_ {
    let text = |role: &Role| format!("no segment is {role}; only the other kind is marked");
    edited.missing.iter().map(text)
}

/// Warns about an alignment without benefit.
fn unused_alignment(changed: &Changed) -> Option<String> {
    let size = changed.align?;
    let shown = Bytes::new(size);
    (!holds_a_page(&changed.edited.table, size)).then(|| {
        format!(
            "no read-only segment holds an aligned page of {shown}: the alignment gains nothing"
        )
    })
}

/// Whether a segment that is not writable holds an aligned page of this size. The kernel maps huge
/// pages of a file only there.
fn holds_a_page(table: &Table, size: u64) -> bool {
    let read_only = table.segments.iter().filter(|s| !s.load.writable);
    read_only.map(|s| s.load).any(|load| {
        let start = load.address.checked_next_multiple_of(size);
        let end = start.and_then(|start| start.checked_add(size));
        end.is_some_and(|end| end <= load.file_end())
    })
}
