//! `hugeadm` without options: pools, THP modes, mounts, a line per problem, next commands.

use std::fmt::Write;

use hugetools_model::Machine;
use hugetools_model::machine::NONE_OFFERED;

use crate::advice::Finding;
use crate::listing::{PoolRow, long_pool_list};

const NEXT_COMMANDS: &str = "
Next:
  hugeadm --explain           each problem, its consequence and its cure
  hugeadm --who               who holds pages of the pools
  hugeadm --size-for WHAT     how many pages a program needs
  hugeadm -h                  the usual options
  hugectl --heap PROGRAM      start a program on huge pages
";

/// Returns the overview as text.
pub fn overview(machine: &Machine, findings: &[Finding]) -> String {
    let pools: Vec<PoolRow> = machine.pools.iter().map(Into::into).collect();
    let mut text = match pools.is_empty() {
        true => format!("Pools: {NONE_OFFERED}\n"),
        false => long_pool_list(&pools),
    };
    let thp = machine.thp.as_ref();
    let mode = |mode: Option<&String>| mode.map_or("absent", String::as_str).to_owned();
    let (private, shared) = (
        mode(thp.and_then(|thp| thp.enabled.as_ref())),
        mode(thp.and_then(|thp| thp.shmem_enabled.as_ref())),
    );
    let _ = writeln!(
        text,
        "\nTransparent huge pages: {private}; shared memory: {shared}"
    );
    let points = machine
        .mounts
        .iter()
        .map(|mount| mount.point.display().to_string());
    let points = points.collect::<Vec<_>>().join(", ");
    let points = if points.is_empty() { "none" } else { &points };
    let _ = writeln!(text, "Mounts: {points}");
    text += match findings.is_empty() {
        true => "\nNo problems found.\n",
        false => "\nProblems:\n",
    };
    for Finding { fact, .. } in findings {
        let _ = writeln!(text, "* {fact}");
    }
    text + NEXT_COMMANDS
}
