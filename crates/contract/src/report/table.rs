//! The report as a table.

use core::fmt::{self, Write};

use hugetools_kernfs::size_name::SizeName;

use super::format::{Lossy, Mechanism, Tenths};
use super::{Proof, base, required};
use crate::segment::{ALL, Row};

impl Proof<'_> {
    /// Writes a table: one line per segment, summed over its objects.
    pub fn write_table(&self, out: &mut impl Write) -> fmt::Result {
        let exe = Lossy(self.exe);
        match is_name_of(self.name, self.exe) {
            true => write!(out, "{exe}, process {}", self.pid)?,
            false => write!(out, "{} ({exe}), process {}", Lossy(self.name), self.pid)?,
        }
        self.origin.write_words(out)?;
        if let (true, Some(life), Some(why)) = (self.rows.is_empty(), &self.life, self.warning) {
            // No figures are known: a table of zeros would be wrong.
            out.write_str(": ")?;
            life.write_ended(out)?;
            writeln!(out, "; {why}")?;
            return required::write_line(self.required, out);
        }
        let peak = self.life.map(|life| life.peak);
        if peak.is_some_and(|peak| peak.is_above(self.rows)) {
            out.write_str("; segments as of its end")?;
        }
        out.write_char('\n')?;
        writeln!(
            out,
            "segment    mapped kB  resident kB      huge kB   share  pages"
        )?;
        for segment in ALL {
            let mut sum: Option<Row<'_>> = None;
            for row in self.rows.iter().filter(|row| row.segment == segment) {
                match &mut sum {
                    None => sum = Some(*row),
                    Some(sum) => sum.add(row),
                }
            }
            if let Some(sum) = sum {
                write_line(out, &sum)?;
            }
        }
        if let Some(peak) = peak {
            peak.write_line(out)?;
        }
        required::write_line(self.required, out)?;
        if let Some(moved) = &self.next_touch {
            moved.write_line(out)?;
        }
        match &self.life {
            None => Ok(()),
            Some(life) => life.write_line(out),
        }
    }
}

/// Whether a name is the start of the file's name: the kernel truncates long names, and file names
/// may end in a version.
fn is_name_of(name: &[u8], exe: &[u8]) -> bool {
    base(exe).starts_with(name)
}

fn write_line(out: &mut impl Write, row: &Row<'_>) -> fmt::Result {
    let huge = row.huge_bytes();
    write!(
        out,
        "{:<8} {:>11} {:>12} {:>12}  {:>5}%  ",
        row.segment.name(),
        row.mapped / 1024,
        row.resident / 1024,
        huge / 1024,
        Tenths::of(huge, row.resident),
    )?;
    if huge == 0 {
        out.write_char('-')?;
    }
    for (index, huge) in row.huge.iter().filter(|huge| huge.bytes > 0).enumerate() {
        write!(
            out,
            "{}{}",
            if index > 0 { "," } else { "" },
            SizeName(huge.page_size)
        )?;
    }
    if huge > 0 {
        write!(out, " {}", Mechanism(row))?;
    }
    if let Some(reason) = row.reason {
        write!(out, "  ({reason})")?;
    }
    out.write_char('\n')
}
