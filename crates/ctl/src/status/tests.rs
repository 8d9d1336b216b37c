use super::*;
use std::io::Write;

/// A recorded machine whose process 7 is inspected.
struct Machine(tempfile::TempDir);

const SMAPS: &str = "\
00400000-00401000 r-xp 00000000 fe:00 9 /bin/sh\nRss: 4 kB\n\
00600000-00601000 rw-p 00001000 fe:00 9 /bin/sh\nRss: 4 kB\n\
300000000000-300004000000 rw-p 00000000 00:00 0 \nRss: 65536 kB\nAnonHugePages: 2048 kB\n\
7f0000000000-7f0001000000 rw-s 00000000 00:01 5 /dev/zero (deleted)\nRss: 16384 kB\n\
7f1000000000-7f1000001000 r-xp 00000000 fe:00 8 /run/hugetools/x/libhugetlbfs_heap.so\nRss: 4 kB\n";

const MEMINFO: &str = "MemTotal: 100 kB\nHugepagesize: 2048 kB\n";

const POOL: &str = "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

const THP: &str = "sys/kernel/mm/transparent_hugepage";

impl Machine {
    /// Process 7 has a heap from our library; the pool is empty, and THP `enabled` is `never`.
    fn new() -> Machine {
        let machine = Machine(tempfile::tempdir().unwrap());
        machine.put("proc/7/smaps", SMAPS);
        machine.put("proc/7/environ", "HUGETLB_MORECORE=yes\0");
        machine.put("proc/meminfo", MEMINFO);
        machine.put(POOL, "0\n");
        machine.put(&format!("{THP}/enabled"), "always madvise [never]\n");
        machine.put(&format!("{THP}/hpage_pmd_size"), "2097152\n");
        machine
    }

    fn put(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut file = std::fs::File::create(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    fn row(&self, segment: &str) -> serde_json::Value {
        let root = Root::at(self.0.path()).unwrap();
        let snapshot = Snapshot::take(&root, Pid::new(7).unwrap(), None).unwrap();
        let value: serde_json::Value = serde_json::from_str(&snapshot.to_text(true)).unwrap();
        let rows = value["segments"].as_array().unwrap();
        let mut rows = rows.iter().filter(|row| row["segment"] == segment);
        rows.next().unwrap().clone()
    }

    fn reason(&self, segment: &str) -> String {
        let reason = self.row(segment)["reason"].take();
        reason.as_str().unwrap_or_default().to_owned()
    }
}

#[test]
fn rows_show_huge_bytes_mechanism_and_reason() {
    let machine = Machine::new();
    let heap = machine.row("heap");
    assert_eq!(heap["huge"]["2097152"], 2 << 20);
    assert_eq!(heap["mechanism"], "thp");
    assert_eq!(
        heap["reason"],
        "the pool of 2MB pages is empty; transparent huge pages are set to never"
    );
    assert_eq!(machine.reason("shm"), "not requested, see hugectl --shm");
    // The reader follows no link out of the tree: without program headers, a mapping is "file".
    std::fs::create_dir(machine.0.path().join("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", machine.0.path().join("bin/sh")).unwrap();
    assert_eq!(machine.row("file")["object"], "/bin/sh");
}

#[test]
fn reasons_by_environment_and_mappings() {
    const REQUESTED: &str = "HUGETLB_SHM=yes\0HUGETLB_MORECORE=yes\0";
    let machine = Machine::new();
    let no_library = SMAPS.replace("libhugetlbfs", "libother");
    for (environ, smaps, segment, reason) in [
        (
            "PATH=/bin\0",
            SMAPS,
            "shm",
            "or its starter dropped the environment",
        ),
        (REQUESTED, &no_library, "shm", "the library is not loaded"),
        (REQUESTED, &no_library, "heap", "the library is not loaded"),
        // Redis overwrites its environment with its title: the request is unknown.
        ("\0\0\0\0\0\0\0\0", SMAPS, "heap", ""),
    ] {
        machine.put("proc/7/environ", environ);
        machine.put("proc/7/smaps", smaps);
        let found = machine.reason(segment);
        assert!(found.contains(reason), "{environ:?}: {found}");
        assert_eq!(found.is_empty(), reason.is_empty(), "{environ:?}: {found}");
    }
}

#[test]
fn an_exhausted_limit_is_the_reason() {
    let machine = Machine::new();
    machine.put("proc/7/cgroup", "0::/a\n");
    machine.put("sys/fs/cgroup/cgroup.controllers", "hugetlb\n");
    machine.put("sys/fs/cgroup/a/hugetlb.2MB.max", "0\n");
    machine.put(&format!("{THP}/enabled"), "[always] madvise never\n");
    let wanted = "/sys/fs/cgroup/a/hugetlb.2MB.max is used up";
    assert_eq!(machine.reason("heap"), wanted);
}
