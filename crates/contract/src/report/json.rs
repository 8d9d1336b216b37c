//! The report as JSON.

use core::fmt::{self, Write};

use super::format::{Mechanism, write_optional, write_sizes, write_string};
use super::{Proof, required};
use crate::segment::Row;

impl Proof<'_> {
    /// Writes one line of JSON.
    pub fn write_json(&self, out: &mut impl Write) -> fmt::Result {
        write_head(out, self.warning.map(str::as_bytes).into_iter())?;
        out.write_char(',')?;
        self.write_body(out)?;
        out.write_str("}\n")
    }

    /// Writes the fields of the process, without the head.
    pub fn write_body(&self, out: &mut impl Write) -> fmt::Result {
        write!(out, "\"pid\":{},\"exe\":", self.pid)?;
        write_string(out, self.exe)?;
        out.write_str(",\"name\":")?;
        write_string(out, self.name)?;
        out.write_char(',')?;
        self.origin.write_json(out)?;
        out.write_str(",\"segments\":[")?;
        for (index, row) in self.rows.iter().enumerate() {
            if index > 0 {
                out.write_char(',')?;
            }
            write_row(out, row)?;
        }
        out.write_char(']')?;
        required::write_json(self.required, out)?;
        if let Some(moved) = &self.next_touch {
            moved.write_json(out)?;
        }
        match &self.life {
            None => Ok(()),
            Some(life) => {
                out.write_char(',')?;
                life.write_json(out)
            }
        }
    }
}

/// Writes the head of a document, up to the end of its warnings.
pub fn write_head<'a>(
    out: &mut impl Write,
    warnings: impl Iterator<Item = &'a [u8]>,
) -> fmt::Result {
    let version = env!("CARGO_PKG_VERSION");
    write!(
        out,
        "{{\"tool\":\"hugectl\",\"version\":\"{version}\",\"schema\":1,\"status\":0,\
         \"errors\":[],\"warnings\":["
    )?;
    for (index, warning) in warnings.enumerate() {
        if index > 0 {
            out.write_char(',')?;
        }
        write_string(out, warning)?;
    }
    out.write_char(']')
}

fn write_row(out: &mut impl Write, row: &Row<'_>) -> fmt::Result {
    write!(out, "{{\"segment\":\"{}\",\"object\":", row.segment.name())?;
    write_optional(out, row.object)?;
    let (mapped, resident) = (row.mapped, row.resident);
    write!(
        out,
        ",\"mapped\":{mapped},\"resident\":{resident},\"huge\":"
    )?;
    write_sizes(out, &row.huge)?;
    out.write_str(",\"mechanism\":")?;
    match row.huge_bytes() {
        0 => out.write_str("null")?,
        _ => write!(out, "\"{}\"", Mechanism(row))?,
    }
    out.write_str(",\"reason\":")?;
    write_optional(out, row.reason.map(str::as_bytes))?;
    if let Some(folios) = row.folios {
        out.write_str(",\"folios\":")?;
        write_sizes(out, folios)?;
    }
    out.write_char('}')
}
