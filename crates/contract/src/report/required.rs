//! The requirements on a process, in its report.

use core::fmt::{self, Write};

use super::format::Tenths;
use crate::env::{Required, Share};
use crate::segment::{Row, Segment};

/// A requirement on a segment, and whether it was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Met {
    /// The requirement.
    pub required: Required,
    /// The bytes that the requirement covers. Text, data, bss and stack are measured before `main`.
    pub bytes: u64,
    /// The bytes of these on huge pages.
    pub huge: u64,
    /// Whether that was enough and no request failed.
    pub met: bool,
}

impl Met {
    /// Measures heap, shm or anon by the rows of a report, since they are empty before `main`.
    pub fn measure(&mut self, rows: &[Row<'_>]) {
        let Required(segment, _) = self.required;
        if matches!(segment, Segment::Heap | Segment::Shm | Segment::Anon) {
            let rows = || rows.iter().filter(|row| row.segment == segment);
            self.bytes = rows().map(|row| row.resident).sum();
            self.huge = rows().map(Row::huge_bytes).sum();
        }
    }
}

/// Writes the field of a JSON object, if anything was required.
pub(super) fn write_json(all: &[Met], out: &mut impl Write) -> fmt::Result {
    let mut before = ",\"required\":[";
    for one in all {
        let Required(segment, share) = one.required;
        write!(
            out,
            "{before}{{\"segment\":\"{}\",\"percent\":",
            segment.name()
        )?;
        match share {
            Share::Percent(percent) => write!(out, "{percent}")?,
            Share::Whole => out.write_str("null")?,
        }
        let Met {
            bytes, huge, met, ..
        } = one;
        write!(out, ",\"bytes\":{bytes},\"huge\":{huge},\"met\":{met}}}")?;
        before = ",";
    }
    match all {
        [] => Ok(()),
        _ => out.write_char(']'),
    }
}

/// Writes the requirements as one line of text.
pub(super) fn write_line(all: &[Met], out: &mut impl Write) -> fmt::Result {
    let mut before = "required: ";
    for one in all {
        let met = if one.met { "met" } else { "NOT met" };
        let share = Tenths::of(one.huge, one.bytes);
        write!(out, "{before}{} {met} ({share}% huge)", one.required)?;
        before = ", ";
    }
    match all {
        [] => Ok(()),
        _ => out.write_char('\n'),
    }
}
