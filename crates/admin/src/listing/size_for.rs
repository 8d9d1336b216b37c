//! `--size-for`: how many pages a program needs, part by part.

use std::fmt::Write;

use hugetools_model::PageSize;
use serde::Serialize;

/// The pages that a program needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SizeFor {
    /// The program, as the user named it.
    pub what: String,
    /// The page size.
    pub size: PageSize,
    /// The parts of its memory.
    pub parts: Vec<Part>,
    /// The pages of all parts.
    pub pages: u64,
    /// Memory that the sum doesn't include.
    pub note: Option<String>,
}

/// A part of a program's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Part {
    /// Its name.
    pub part: String,
    /// Its size.
    pub bytes: u64,
    /// Its pages.
    pub pages: u64,
}

impl SizeFor {
    /// Sums up the pages of the parts.
    pub fn new(what: &str, size: PageSize, parts: Vec<Part>, note: Option<String>) -> SizeFor {
        SizeFor {
            what: what.to_owned(),
            size,
            pages: parts.iter().map(|part| part.pages).sum(),
            parts,
            note,
        }
    }

    /// Formats the parts, the sum, and a `[[pool]]` entry for `hugetools.toml`.
    pub fn text(&self) -> String {
        let mut out = String::new();
        for Part { part, bytes, pages } in &self.parts {
            let bytes = bytes.div_ceil(1 << 10);
            let _ = writeln!(out, "{pages:>8}  {part}: {bytes} kB");
        }
        let (pages, size) = (self.pages, self.size);
        let _ = writeln!(out, "{pages:>8}  pages of {size} in all");
        if let Some(note) = &self.note {
            let _ = writeln!(out, "{note}");
        }
        if pages > 0 {
            let _ = writeln!(out, "\n[[pool]]\nsize = \"{size}\"\nmin = {pages}");
        }
        out
    }
}

impl Part {
    /// Returns a part that shares no page with other parts.
    pub fn new(part: impl Into<String>, bytes: u64, size: PageSize) -> Part {
        let (part, pages) = (part.into(), bytes.div_ceil(size.get()));
        Part { part, bytes, pages }
    }
}
