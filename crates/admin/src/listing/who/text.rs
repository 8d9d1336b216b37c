//! Formats the account as a table.

use std::fmt::Write;

use hugetools_contract::report::Lossy;

use super::{Holder, PoolAccount};

/// Formats the table of all pools.
pub fn text(pools: &[PoolAccount]) -> String {
    let mut out = String::new();
    if pools.iter().all(|pool| pool.total == 0) {
        out.push_str("no pool has pages\n");
    }
    for pool in pools.iter().filter(|pool| pool.total > 0) {
        let row = &pool.row;
        let used = row.current.saturating_sub(row.free);
        let _ = writeln!(
            out,
            "{}: {}, {used} in use, {} free, {} of these reserved",
            row.size,
            row.current.with_noun(),
            row.free,
            row.reserved
        );
        for holder in &pool.holders {
            let _ = writeln!(out, "{:>10}  {}", holder.pages, name(holder));
        }
        rest(&mut out, pool.unaccounted, "in use");
        rest(&mut out, pool.unaccounted_reserved, "reserved");
    }
    out
}

/// Formats pages that the account doesn't explain.
fn rest(out: &mut String, pages: i64, how: &str) {
    let _ = match pages {
        0 => Ok(()),
        1.. => writeln!(
            out,
            "{pages:>10}  {how}, not accounted for: no visible process or file has them"
        ),
        _ => writeln!(
            out,
            "{:>10}  counted above but not {how}: they changed during the scan, or belong to \
             children whose parent has ended",
            pages.unsigned_abs()
        ),
    };
}

fn name(holder: &Holder) -> String {
    let path = Lossy(holder.path.as_deref().unwrap_or_default().as_bytes());
    let mut name = match (holder.pid, holder.id) {
        (Some(pid), _) => format!("process {pid} ({path})"),
        (None, Some(id)) => format!("shared memory segment {id}"),
        (None, None) => format!("file {path}"),
    };
    if holder.kind == "reservation" {
        name = format!("reserved but untouched: {name}");
    }
    if let Some(command) = &holder.command {
        let _ = write!(name, ", unused; to free it: {command}");
    } else if holder.pid.is_none() && holder.pids.is_empty() {
        name.push_str(", no visible user");
    } else if !holder.pids.is_empty() {
        let pids: Vec<String> = holder.pids.iter().map(u32::to_string).collect();
        let _ = write!(name, ", used by {}", pids.join(", "));
    }
    name
}
