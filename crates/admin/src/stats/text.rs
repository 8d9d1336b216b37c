//! Formats the statistics as tables of at most 80 columns, except lists of sizes.

use std::fmt::Write;

use hugetools_model::PageSize;

use super::counters::{GROUPS, Group, SIZE_COUNTERS};
use super::{Event, Memory, Stats};

/// Formats all tables.
pub fn text(stats: &Stats) -> String {
    let mut out = String::new();
    head(&mut out, stats);
    for group in &GROUPS {
        group_table(&mut out, stats, group);
    }
    sizes(&mut out, stats);
    memory(&mut out, &stats.memory);
    out
}

fn group_table(out: &mut String, stats: &Stats, group: &Group) {
    let find = |name: &str| {
        let has_name = |event: &&Event| event.size.is_none() && event.event == name;
        stats.events.iter().find(has_name)
    };
    let rows = group.counters.iter();
    let rows = rows.filter_map(|(name, meaning)| Some((find(name)?, *meaning)));
    let rows: Vec<(&Event, &str)> = rows.collect();
    let _ = writeln!(out, "{}", group.title);
    if rows.iter().all(|(event, _)| event.boot.is_none()) {
        // Every kernel has /proc/uptime. If even that is missing, the kernel may have the counters.
        out.push_str(match stats.since_boot {
            None => "  unknown: the kernel's files are missing or unreadable\n",
            Some(_) => "  unknown: this kernel lacks or hides these counters\n",
        });
        return;
    }
    for (event, meaning) in rows {
        line(out, event, meaning);
    }
}

fn head(out: &mut String, stats: &Stats) {
    let boot = match stats.since_boot {
        None => String::from("unknown"),
        Some(seconds) => format!("{seconds:.1} s"),
    };
    let _ = writeln!(out, "{:<28}{:>13}", "", "since boot");
    let _ = writeln!(out, "{:<28}{boot:>13}", "Time");
}

fn line(out: &mut String, event: &Event, meaning: &str) {
    let (name, boot) = (&event.event, number(event.boot));
    let _ = writeln!(out, "  {name:<26}{boot:>13}  {meaning}");
}

fn number(value: Option<impl ToString>) -> String {
    value.map_or_else(|| String::from("unknown"), |value| value.to_string())
}

/// Formats the nonzero counters of each size. One line lists the sizes whose counters are all 0,
/// another line those with unreadable counters.
fn sizes(out: &mut String, stats: &Stats) {
    let mut all: Vec<PageSize> = stats.events.iter().filter_map(|it| it.size).collect();
    all.dedup();
    let (mut zero, mut unknown) = (Vec::new(), Vec::new());
    for size in all {
        let of_size = |event: &&Event| event.size == Some(size);
        let events: Vec<&Event> = stats.events.iter().filter(of_size).collect();
        let is_nonzero = |event: &&&Event| event.boot.is_some_and(|boot| boot > 0);
        if events.iter().all(|event| event.boot.is_none()) {
            unknown.push(size.to_string());
        } else if !events.iter().any(|event| is_nonzero(&event)) {
            zero.push(size.to_string());
        } else {
            let _ = writeln!(out, "Transparent huge pages of {size}");
            for event in events.iter().filter(|event| is_nonzero(event)) {
                let counter = SIZE_COUNTERS.iter().find(|(name, _)| *name == event.event);
                line(out, event, counter.map_or("", |(_, meaning)| meaning));
            }
        }
    }
    if !zero.is_empty() {
        let _ = writeln!(out, "All 0: transparent huge pages of {}", zero.join(", "));
    }
    if !unknown.is_empty() {
        let unknown = unknown.join(", ");
        let _ = writeln!(out, "No counters: transparent huge pages of {unknown}");
    }
}

fn memory(out: &mut String, rows: &[Memory]) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(
        out,
        "\nFree memory in pages of each size, and pages available without compaction\n\
         {:>10} {:>6} {:>12} {:>12} {:>8}",
        "Size", "Node", "Free", "Available", "Share"
    );
    for row in rows {
        let share = match (row.free, row.available) {
            (Some(free @ 1..), Some(available)) => {
                format!("{}%", available.saturating_mul(100) / free)
            }
            _ => String::from("-"),
        };
        let available = match (row.available, row.at_most) {
            (None, Some(0)) => String::from("0"),
            (None, Some(most)) => format!("at most {most}"),
            (available, _) => number(available),
        };
        let (size, node, free) = (row.size.to_string(), row.node, number(row.free));
        let _ = writeln!(
            out,
            "{size:>10} {node:>6} {free:>12} {available:>12} {share:>8}"
        );
    }
}
