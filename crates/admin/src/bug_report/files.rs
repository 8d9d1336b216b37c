//! Lists the kernel's files about huge pages.

use std::ffi::OsStr;

use hugetools_model::{KPath, Root};

/// Single files.
const FILES: &[&str] = &[
    "/proc/buddyinfo",
    "/proc/cmdline",
    "/proc/filesystems",
    "/proc/meminfo",
    "/proc/pagetypeinfo",
    "/proc/self/mountinfo",
    "/proc/swaps",
    "/proc/sys/kernel/osrelease",
    "/proc/sys/kernel/shmall",
    "/proc/sys/kernel/shmmax",
    "/proc/sys/kernel/shmmni",
    "/proc/sys/vm/compaction_proactiveness",
    "/proc/sys/vm/defrag_mode",
    "/proc/sys/vm/hugepages_treat_as_movable",
    "/proc/sys/vm/hugetlb_optimize_vmemmap",
    "/proc/sys/vm/hugetlb_shm_group",
    "/proc/sys/vm/lowmem_reserve_ratio",
    "/proc/sys/vm/max_map_count",
    "/proc/sys/vm/min_free_kbytes",
    "/proc/sys/vm/nr_hugepages",
    "/proc/sys/vm/nr_hugepages_mempolicy",
    "/proc/sys/vm/nr_overcommit_hugepages",
    "/proc/sys/vm/overcommit_kbytes",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/overcommit_ratio",
    "/proc/sys/vm/unprivileged_userfaultfd",
    "/proc/uptime",
    "/proc/vmstat",
    "/proc/zoneinfo",
    "/sys/devices/system/cpu/online",
    "/sys/fs/cgroup/cgroup.controllers",
];

/// Per-node files to record.
const NODES: &str = "/sys/devices/system/node";
const OF_NODE: &[&str] = &["cpulist", "distance", "meminfo"];

/// Directories with a subdirectory for each page size.
const TREES: &[&str] = &[
    "/sys/kernel/mm/hugepages",
    "/sys/kernel/mm/transparent_hugepage",
];

/// Depth of these trees: `hugepages-2048kB/stats/anon_fault_alloc`.
const DEPTH: usize = 3;

/// Lists all files to record.
pub(super) fn files(root: &Root) -> Vec<KPath> {
    let mut files: Vec<KPath> = FILES.iter().map(|path| KPath::from(*path)).collect();
    for tree in TREES {
        below(root, &KPath::from(*tree), DEPTH, &mut files);
    }
    let nodes = KPath::from(NODES);
    for name in names(root, &nodes) {
        let path = nodes.join(&name);
        if !is_node(&name) {
            files.extend((name != "uevent" && is_file(root, &path)).then_some(path));
            continue;
        }
        files.extend(OF_NODE.iter().map(|file| path.join(file)));
        below(root, &path.join("hugepages"), 2, &mut files);
    }
    files
}

fn is_node(name: &str) -> bool {
    name.strip_prefix("node")
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Collects the files below a directory, at most `depth` levels down.
fn below(root: &Root, dir: &KPath, depth: usize, files: &mut Vec<KPath>) {
    for name in names(root, dir) {
        let path = dir.join(&name);
        match is_file(root, &path) {
            true => files.push(path),
            false if depth > 1 => below(root, &path, depth - 1, files),
            false => {}
        }
    }
}

fn is_file(root: &Root, path: &KPath) -> bool {
    root.host_path(path.as_str()).is_file()
}

fn names(root: &Root, dir: &KPath) -> Vec<String> {
    let names = root.list(dir).unwrap_or_default();
    let names = names.iter().filter_map(|name| OsStr::to_str(name));
    names.map(str::to_owned).collect()
}
