//! `--metrics`: pools, events and control groups in the text format of Prometheus, for the
//! textfile collector of node_exporter. Units are bytes and seconds.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::SystemTime;

use hugetools_model::Machine;
use hugetools_model::hugetlb::pool::Pool;
use hugetools_model::process::cgroup::Usage;
use hugetools_model::{Bytes, PageCount, PageSize};

use super::counters::{Counter, GROUPS, SIZE_COUNTERS};
use super::{Snapshot, counters};

/// The sources of the metrics.
#[derive(Debug)]
pub struct Sources<'a> {
    /// The pools and nodes.
    pub machine: &'a Machine,
    /// The kernel's counters.
    pub seen: &'a Snapshot,
    /// Huge pages of control groups.
    pub groups: &'a [Usage],
    /// Time of the last `apply` and the last `check`.
    pub runs: &'a [(&'static str, Option<SystemTime>)],
}

/// Formats all metrics that have samples.
pub fn text(sources: &Sources<'_>) -> String {
    let mut out = String::new();
    pools(&mut out, sources.machine);
    nodes(&mut out, sources.machine);
    events(&mut out, sources.seen);
    let group = |it: &Usage| {
        let name = it.group.replace('\\', "\\\\").replace('"', "\\\"");
        let labels = format!("{{cgroup=\"{name}\",{}}}", label(it.size));
        (labels, it.used.get())
    };
    metric(
        &mut out,
        "hugetools_cgroup_used_bytes",
        "gauge",
        "Pool pages charged to a control group",
        sources.groups.iter().map(group).collect(),
    );
    for (run, time) in sources.runs {
        let since = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let samples = since.map(|since| (String::new(), since.as_secs()));
        metric(
            &mut out,
            &format!("hugetools_last_{run}_timestamp_seconds"),
            "gauge",
            &match *run {
                "apply" => "Time of the last hugeadm --apply that changed anything".to_owned(),
                _ => format!("Time of the last hugeadm --{run}"),
            },
            samples.into_iter().collect(),
        );
    }
    out
}

fn metric(out: &mut String, name: &str, kind: &str, help: &str, samples: Vec<(String, u64)>) {
    if samples.is_empty() {
        return;
    }
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
    for (labels, value) in samples {
        let _ = writeln!(out, "{name}{labels} {value}");
    }
}

fn label(size: PageSize) -> String {
    format!("size=\"{size}\"")
}

fn bytes(size: PageSize, pages: PageCount) -> u64 {
    size.of(pages).map_or(u64::MAX, Bytes::get)
}

fn pools(out: &mut String, machine: &Machine) {
    type Figure = fn(&Pool) -> PageCount;
    let figures: [(&str, &str, Figure); 6] = [
        ("", "Pages of the pool", |pool| pool.total),
        ("minimum_", "Persistent pages", Pool::minimum),
        (
            "maximum_",
            "Persistent pages and allowed surplus pages",
            Pool::maximum,
        ),
        ("free_", "Free pages", |pool| pool.free),
        ("reserved_", "Free pages that are reserved", |pool| {
            pool.reserved
        }),
        ("surplus_", "Pages above the minimum", |pool| pool.surplus),
    ];
    for (name, help, figure) in figures {
        let sample = |pool: &Pool| {
            let labels = format!("{{{}}}", label(pool.size));
            (labels, bytes(pool.size, figure(pool)))
        };
        let samples = machine.pools.iter().map(sample).collect();
        metric(
            out,
            &format!("hugetools_pool_{name}bytes"),
            "gauge",
            help,
            samples,
        );
    }
}

fn nodes(out: &mut String, machine: &Machine) {
    for (name, help) in [
        ("", "Pages of the pool on a node"),
        ("free_", "Free pages on a node"),
        ("surplus_", "Pages above the minimum on a node"),
    ] {
        let shares = machine.nodes.iter();
        let shares = shares.flat_map(|node| node.pools.iter().map(move |pool| (node.id, pool)));
        let samples = shares.map(|(id, pool)| {
            let pages = match name {
                "" => pool.total,
                "free_" => pool.free,
                _ => pool.surplus,
            };
            let labels = format!("{{node=\"{id}\",{}}}", label(pool.size));
            (labels, bytes(pool.size, pages))
        });
        metric(
            out,
            &format!("hugetools_node_pool_{name}bytes"),
            "gauge",
            help,
            samples.collect(),
        );
    }
}

/// Formats the counters. Counters that this kernel lacks have no sample.
fn events(out: &mut String, seen: &Snapshot) {
    let meanings = GROUPS
        .iter()
        .flat_map(|group| group.counters)
        .chain(&SIZE_COUNTERS);
    let meanings: BTreeMap<_, _> = meanings.copied().collect();
    let mut all: Vec<(Counter, u64)> = counters::all(&seen.thp_sizes)
        .filter_map(|counter| Some((counter, counter.of(seen)?)))
        .collect();
    all.sort_by_key(|(counter, _)| counter.metric());
    for family in all.chunk_by(|(one, _), (other, _)| one.metric() == other.metric()) {
        let Some((first, _)) = family.first() else {
            continue;
        };
        let name = first.metric();
        let kind = if name.ends_with("_total") {
            "counter"
        } else {
            "gauge"
        };
        let help = format!("{} of the kernel: {}", first.name, meanings[first.name]);
        let sample = |(counter, value): &(Counter, u64)| {
            let labels = counter.size.map(|size| format!("{{{}}}", label(size)));
            (labels.unwrap_or_default(), *value)
        };
        metric(out, &name, kind, &help, family.iter().map(sample).collect());
    }
}
