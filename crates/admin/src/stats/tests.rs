use super::*;
use hugetools_model::fixture::unpack;
use hugetools_model::{PageCount, Root};

const MACHINE: &str = include_str!("../../../../tests/fixtures/x86_64-8node.tree");

/// Reads a recorded machine with additional files.
fn seen(files: &[(&str, &str)]) -> Snapshot {
    let dir = tempfile::tempdir().unwrap();
    let mut archive = MACHINE.to_owned();
    for (path, text) in files {
        archive = format!("{archive}{path} <<EOF\n{text}EOF\n");
    }
    unpack(&archive, dir.path()).unwrap();
    Snapshot::read(&Root::at(dir.path()).unwrap()).unwrap()
}

fn event<'s>(stats: &'s Stats, name: &str) -> &'s Event {
    let mut all = stats.events.iter();
    all.find(|event| event.event == name).unwrap()
}

const SPLITS: &str = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/split";

#[test]
fn differences_since_the_last_snapshot() {
    let size = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/enabled";
    let size = (size, "always inherit madvise [never]\n");
    let first = seen(&[
        ("/proc/uptime", "10.00 1.00\n"),
        ("/proc/vmstat", "thp_fault_alloc 5\nthp_split_page 1\n"),
        (SPLITS, "3\n"),
        size,
    ]);
    let then = seen(&[
        ("/proc/uptime", "12.50 1.00\n"),
        ("/proc/vmstat", "thp_fault_alloc 9\nthp_split_page 1\n"),
        (SPLITS, "2\n"),
        size,
    ]);
    let stats = stats(&then, Some(&first));
    assert_eq!(stats.since_last, Some(Seconds(250)));
    let change = |name| (event(&stats, name).boot, event(&stats, name).last);
    assert_eq!(change("thp_fault_alloc"), (Some(9), Some(4)));
    assert_eq!(change("thp_split_page"), (Some(1), Some(0)));
    assert_eq!(change("split"), (Some(2), Some(-1)));
    assert_eq!(change("thp_fault_fallback"), (None, None));
    assert_eq!(event(&stats, "split").file, SPLITS);
    let text = text(&stats);
    assert!(text.contains("thp_fault_alloc                       9          4  faults served"));
    assert!(text.contains("thp_fault_fallback              unknown    unknown  faults without"));
}

#[test]
fn lines_fit_into_80_columns() {
    let most = 9_999_999_999_999_u64;
    let files = counters::all(&[]).map(|counter| format!("{} {most}\n", counter.name));
    let vmstat: String = files.collect();
    let now = seen(&[
        ("/proc/vmstat", &vmstat),
        ("/proc/uptime", "99999999.99 1.00\n"),
    ]);
    for stats in [stats(&now, None), stats(&now, Some(&now))] {
        let longest = text(&stats).lines().map(str::len).max();
        assert!(longest <= Some(80), "{}", text(&stats));
    }
}

#[test]
fn a_pool_may_grow_by_its_unused_overcommit() {
    let mut now = seen(&[]);
    now.pools[0].overcommit = Some(PageCount::new(7));
    now.pools[0].surplus = PageCount::new(3);
    let stats = stats(&now, None);
    let promised: Vec<_> = stats.promised.iter().map(|pool| pool.may_grow).collect();
    assert_eq!(promised, [Some(4), None]);
    assert_eq!(stats.promised[0].available, stats.available[&(2 << 20)]);
    assert_eq!(stats.available[&(1 << 30)], None);
}

#[test]
fn all_refusals_of_a_new_group_are_new() {
    let group = |count| Refusals {
        file: hugetools_model::KPath::from("/sys/fs/cgroup/a/hugetlb.2MB.events.local"),
        size: PageSize::new(2 << 20).unwrap(),
        count,
    };
    let at = |refusals| Snapshot {
        refusals,
        ..Snapshot::default()
    };
    let of = |now, before: Option<&Snapshot>| stats(&at(now), before).refused;
    let change = |now, before| of(now, before).map(|all| (all[0].boot, all[0].last));
    let none = at(Some(Vec::new()));
    let two = at(Some(vec![group(2)]));
    assert_eq!(of(None, Some(&none)), None);
    assert_eq!(change(Some(vec![group(5)]), None), Some((Some(5), None)));
    assert_eq!(
        change(Some(vec![group(5)]), Some(&none)),
        Some((Some(5), Some(5)))
    );
    assert_eq!(
        change(Some(vec![group(5)]), Some(&two)),
        Some((Some(5), Some(3)))
    );
}
