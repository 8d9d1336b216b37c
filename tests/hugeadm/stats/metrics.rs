//! `--metrics`: the text for Prometheus, and the dashboard for Grafana.
#![expect(
    clippy::disallowed_methods,
    reason = "creates files of a recorded tree"
)]

use std::collections::BTreeSet;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::support::bless;
use crate::support::needs;
use crate::support::tool::hugeadm;
use crate::support::tree;

/// Returns the metrics of a machine with pools, nodes, counters, control groups and records of
/// `--apply` and `--check`.
fn metrics() -> String {
    let dir = tree::machine("x86_64-8node");
    let counters = tree::machine("x86_64-6.18-counters");
    std::fs::copy(
        counters.path().join("proc/vmstat"),
        dir.path().join("proc/vmstat"),
    )
    .unwrap();
    for (path, text) in [
        ("sys/fs/cgroup/cgroup.controllers", "hugetlb\n"),
        ("sys/fs/cgroup/db.slice/cgroup.procs", ""),
        ("sys/fs/cgroup/db.slice/hugetlb.2MB.current", "4194304\n"),
        ("sys/fs/cgroup/db.slice/hugetlb.1GB.current", "0\n"),
        ("sys/fs/cgroup/db.slice/a\"b/cgroup.procs", ""),
        (
            "sys/fs/cgroup/db.slice/a\"b/hugetlb.2MB.current",
            "2097152\n",
        ),
        ("sys/fs/cgroup/db.slice/a\"b/deeper/cgroup.procs", ""),
        (
            "sys/fs/cgroup/db.slice/a\"b/deeper/hugetlb.2MB.current",
            "2097152\n",
        ),
        ("var/lib/hugetools/rollback.json", ""),
        ("var/lib/hugetools/checked", ""),
    ] {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let ran = hugeadm(dir.path(), &["--metrics"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""));
    ran.out
}

#[test]
fn metrics_match_kernel_files() {
    let text = metrics();
    let has = |line: &str| assert!(text.lines().any(|it| it == line), "{line}\n{text}");
    has(&format!(
        "hugetools_pool_bytes{{size=\"2MB\"}} {}",
        74 << 21
    ));
    has(&format!(
        "hugetools_pool_maximum_bytes{{size=\"2MB\"}} {}",
        81 << 21
    ));
    has(&format!(
        "hugetools_node_pool_bytes{{node=\"3\",size=\"2MB\"}} {}",
        10 << 21
    ));
    has("hugetools_thp_fault_alloc_total 1459939");
    has("hugetools_cgroup_used_bytes{cgroup=\"/db.slice\",size=\"2MB\"} 4194304");
    has("hugetools_cgroup_used_bytes{cgroup=\"/db.slice/a\\\"b\",size=\"2MB\"} 2097152");
    assert!(!text.contains("deeper") && !text.contains("cgroup=\"/db.slice\",size=\"1GB\""));
    assert!(
        text.contains("\nhugetools_last_check_timestamp_seconds 1"),
        "{text}"
    );
}

#[test]
fn promtool_has_no_complaint() {
    if !needs::programs("the check of metrics", &["promtool"]) {
        return;
    }
    let mut child = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut to = child.stdin.take().unwrap();
    std::io::Write::write_all(&mut to, metrics().as_bytes()).unwrap();
    drop(to);
    let ran = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success() && stderr.is_empty(), "{stderr}");
}

#[test]
fn the_dashboard_shows_existing_metrics() {
    let text = bless::read_text("crates/admin/share/grafana-dashboard.json");
    let _: Value = serde_json::from_str(&text).unwrap();
    let metrics = metrics();
    let names = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "));
    let names: BTreeSet<&str> = names.filter_map(|line| line.split(' ').next()).collect();
    let word = |c: char| !c.is_ascii_lowercase() && c != '_';
    let used: BTreeSet<&str> = text
        .split(word)
        .filter(|it| it.starts_with("hugetools_"))
        .collect();
    assert!(used.len() > 8, "{used:?}");
    assert!(used.is_subset(&names), "{:?}", used.difference(&names));
}

#[test]
fn output_replaces_the_file_and_refuses_a_directory() {
    let dir = tree::machine("x86_64-8node");
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("hugetools.prom");
    std::fs::write(&file, "old").unwrap();
    let write = |path: &Path| {
        hugeadm(
            dir.path(),
            &["--metrics", "--output", path.to_str().unwrap()],
        )
    };
    let before = file.metadata().unwrap().ino();
    let ran = write(&file);
    assert_eq!(
        (ran.status, ran.out.as_str(), ran.err.as_str()),
        (0, "", "")
    );
    let found = file.metadata().unwrap();
    assert_ne!(found.ino(), before);
    assert_eq!(found.permissions().mode() & 0o7777, 0o644);
    assert!(tree::text(&file).starts_with("# HELP hugetools_pool_bytes "));
    assert_eq!(place.path().read_dir().unwrap().count(), 1);
    let ran = write(place.path());
    assert_eq!(ran.status, 1);
    assert!(ran.err.contains("it is not a regular file"), "{ran:?}");
}
