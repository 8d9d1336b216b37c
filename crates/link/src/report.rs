//! What became of a file: the lines that hugeedit always printed, and more
//! where alignments were asked for.

use std::fmt::Write;
use std::path::Path;

use hugetools_elf::{Edited, Role, Segment, Table};
use hugetools_model::Bytes;
use serde::Serialize;

use crate::file::Changed;

/// What became of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Report {
    /// For which machine it is made, as in `64-bit x86_64`.
    pub machine: String,
    /// Whether a byte of it was changed.
    pub changed: bool,
    /// Its segments, as they are now.
    pub segments: Vec<Row>,
    /// What should be known besides.
    #[serde(skip)]
    pub notes: Vec<String>,
}

/// A segment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Row {
    /// Its place in the program header table.
    pub index: usize,
    /// Its address.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// `text`, `data` or neither.
    pub role: Option<&'static str>,
    /// Whether it asks for huge pages.
    pub huge: bool,
    /// Its alignment, in bytes.
    pub align: u64,
    /// Its alignment before, where that was another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub align_before: Option<u64>,
    /// Why it could not be aligned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obstacle: Option<String>,
}

impl Report {
    /// A file as it is.
    pub fn shown(table: &Table) -> Report {
        Report {
            machine: table.ident.to_string(),
            changed: false,
            segments: table.segments.iter().map(Row::new).collect(),
            notes: Vec::new(),
        }
    }

    /// A file that was changed.
    pub fn changed(path: &Path, changed: &Changed) -> Report {
        let Changed { before, edited, .. } = changed;
        let mut report = Report::shown(&edited.table);
        report.changed = *before != edited.table;
        for (row, old) in report.segments.iter_mut().zip(&before.segments) {
            let left = edited.left.iter().find(|left| left.index == row.index);
            row.align_before = Some(old.load.align).filter(|align| *align != row.align);
            row.obstacle = left.map(|left| left.why.to_string());
        }
        let notes = missing(edited)
            .chain(useless(changed))
            .chain(changed.lost.iter().cloned());
        let name = |note| format!("{}: {note}", path.display());
        report.notes = notes.map(name).collect();
        report
    }

    /// The lines for people.
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
            huge: segment.is_marked(),
            align: segment.load.align,
            align_before: None,
            obstacle: None,
        }
    }
}

fn missing(edited: &Edited) -> impl Iterator<Item = String> + '_ {
    let text = |role: &Role| format!("no segment is {role}; only the others are marked");
    edited.missing.iter().map(text)
}

/// That an alignment gains nothing.
fn useless(changed: &Changed) -> Option<String> {
    let size = changed.align?;
    let shown = Bytes::new(size);
    (!holds_a_page(&changed.edited.table, size)).then(|| {
        format!("no segment that is only read holds an aligned page of {shown}: nothing is gained")
    })
}

/// Whether the kernel could back any part of the file with pages of this size:
/// whether such a page fits into a segment that is only read and run.
fn holds_a_page(table: &Table, size: u64) -> bool {
    let read_only = table.segments.iter().filter(|s| !s.load.writable);
    read_only.map(|s| s.load).any(|load| {
        let start = load.address.checked_next_multiple_of(size);
        let end = start.and_then(|start| start.checked_add(size));
        end.is_some_and(|end| end <= load.file_end())
    })
}
