use super::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[expect(
    clippy::disallowed_methods,
    reason = "the tests inspect live processes"
)]
fn live() -> Root {
    Root::live()
}

/// A program that waits for the end of its standard input.
struct Waiting(Child);

impl Waiting {
    fn start(program: &Path) -> Waiting {
        use std::io::Read;
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It writes a byte after touching its memory.
        child.stdout.take().unwrap().read_exact(&mut [0]).unwrap();
        Waiting(child)
    }

    fn pid(&self) -> Pid {
        Pid::new(self.0.id()).unwrap()
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

/// Four segments of known sizes.
const SOURCE: &str = "
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
char zero[8 << 20];
char data[4 << 20] = {1};
int main(void) {
    memset(zero, 1, sizeof zero);
    memset(data, 2, sizeof data);
    char *shared = mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(shared, 3, 2 << 20);
    for (int i = 0; i < 100; i++) memset(malloc(10000), 4, 10000);
    putchar('x');
    fflush(stdout);
    return getchar() == 'x';
}";

fn build(dir: &Path, args: &[&str]) -> std::path::PathBuf {
    let (input, output) = (dir.join("main.c"), dir.join("program"));
    std::fs::File::create(&input)
        .unwrap()
        .write_all(SOURCE.as_bytes())
        .unwrap();
    let mut command = Command::new("cc");
    command.arg(input).args(args).arg("-o").arg(&output);
    assert!(command.status().unwrap().success());
    output
}

/// Mapped and resident bytes by segment and object.
fn rows(waiting: &Waiting) -> BTreeMap<(String, Option<String>), (u64, u64)> {
    let snapshot = Snapshot::take(&live(), waiting.pid(), None).unwrap();
    let value: serde_json::Value = serde_json::from_str(&snapshot.to_text(true)).unwrap();
    let rows = value["segments"].as_array().unwrap();
    let text = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let number = |value: &serde_json::Value| value.as_u64().unwrap();
    let rows = rows.iter().map(|row| {
        let key = (text(&row["segment"]).unwrap(), text(&row["object"]));
        (key, (number(&row["mapped"]), number(&row["resident"])))
    });
    rows.collect()
}

fn near(value: u64, expected: u64) -> bool {
    value >= expected && value <= expected + (64 << 10)
}

#[test]
fn headers_separate_data_and_bss() {
    for args in [&["-no-pie"][..], &["-pie"], &["-static"], &["-static-pie"]] {
        let dir = tempfile::tempdir().unwrap();
        let program = build(dir.path(), args);
        let waiting = Waiting::start(&program);
        let rows = rows(&waiting);
        let object = Some(program.to_str().unwrap().to_owned());
        let of =
            |segment: &str, object: &Option<String>| rows[&(segment.to_owned(), object.clone())];
        let (data, bss) = (of("data", &object), of("bss", &object));
        assert!(
            near(data.0, 4 << 20) && near(data.1, 4 << 20),
            "{args:?} {data:?}"
        );
        assert!(
            near(bss.0, 8 << 20) && near(bss.1, 8 << 20),
            "{args:?} {bss:?}"
        );
        assert!(of("shm", &None).1 >= 2 << 20, "{args:?}");
        assert!(of("heap", &None).1 >= 1_000_000, "{args:?}");
        assert!(
            of("text", &object).1 > 0 && of("stack", &None).1 > 0,
            "{args:?}"
        );
    }
}

#[test]
fn an_unlinked_executable_keeps_its_segments() {
    let dir = tempfile::tempdir().unwrap();
    let program = build(dir.path(), &["-no-pie"]);
    let waiting = Waiting::start(&program);
    std::fs::remove_file(&program).unwrap();
    let gone = Some(format!("{} (deleted)", program.display()));
    let bss = rows(&waiting)[&("bss".to_owned(), gone)];
    assert!(near(bss.1, 8 << 20), "{bss:?}");
}

/// A recorded process 7.
struct Recorded(tempfile::TempDir);

const SMAPS: &str = "\
00400000-00401000 r-xp 00000000 fe:00 9 /bin/sh\nRss: 4 kB\n\
00600000-00601000 rw-p 00001000 fe:00 9 /bin/sh\nRss: 4 kB\n\
300000000000-300004000000 rw-p 00000000 00:00 0 \nRss: 65536 kB\nAnonHugePages: 2048 kB\n\
7f0000000000-7f0001000000 rw-s 00000000 00:01 5 /dev/zero (deleted)\nRss: 16384 kB\n\
7f1000000000-7f1000001000 r-xp 00000000 fe:00 8 /run/hugetools/x/libhugetlbfs_heap.so\nRss: 4 kB\n";

const MEMINFO: &str = "MemTotal: 100 kB\nHugepagesize: 2048 kB\nHugePages_Total: 0\n\
                       HugePages_Free: 0\nHugePages_Rsvd: 0\nHugePages_Surp: 0\n";

const THP: &str = "sys/kernel/mm/transparent_hugepage";

impl Recorded {
    /// A process with a heap from our library on a machine without huge pages.
    fn new() -> Recorded {
        let recorded = Recorded(tempfile::tempdir().unwrap());
        recorded.put("proc/7/smaps", SMAPS);
        recorded.put("proc/7/environ", "HUGETLB_MORECORE=yes\0");
        recorded.put("proc/meminfo", MEMINFO);
        recorded.put(&format!("{THP}/enabled"), "always madvise [never]\n");
        recorded.put(&format!("{THP}/hpage_pmd_size"), "2097152\n");
        recorded
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
fn a_recorded_process_without_its_files() {
    let recorded = Recorded::new();
    assert_eq!(recorded.row("text")["object"], "/bin/sh");
    assert_eq!(recorded.row("data")["mapped"], 4096);
    let heap = recorded.row("heap");
    assert_eq!(heap["huge"]["2097152"], 2 << 20);
    assert_eq!(heap["mechanism"], "thp");
    assert_eq!(
        heap["reason"],
        "the pool of 2MB pages is empty; transparent huge pages are set to never"
    );
    assert_eq!(recorded.reason("shm"), "not asked for, see hugectl --shm");
    // The headers of the machine's own shell would say something else.
    std::fs::create_dir(recorded.0.path().join("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", recorded.0.path().join("bin/sh")).unwrap();
    assert_eq!(recorded.row("data")["mapped"], 4096);
}

#[test]
fn reasons_by_environment_and_mappings() {
    const ASKED: &str = "HUGETLB_SHM=yes\0HUGETLB_MORECORE=yes\0";
    const TUNABLES: &str = "HUGETLB_MORECORE=yes\0GLIBC_TUNABLES=glibc.malloc.hugetlb=1\0";
    let recorded = Recorded::new();
    let no_library = SMAPS.replace("libhugetlbfs", "libother");
    for (environ, smaps, segment, reason) in [
        (
            "PATH=/bin\0",
            SMAPS,
            "shm",
            "or what started it dropped the environment",
        ),
        (ASKED, &no_library, "shm", "the library is not in it"),
        (ASKED, &no_library, "heap", "the library is not in it"),
        (
            TUNABLES,
            &no_library,
            "heap",
            "the pool of 2MB pages is empty",
        ),
        // Redis overwrites its environment with its title.
        ("\0\0\0\0\0\0\0\0", SMAPS, "heap", ""),
    ] {
        recorded.put("proc/7/environ", environ);
        recorded.put("proc/7/smaps", smaps);
        let found = recorded.reason(segment);
        assert!(found.contains(reason), "{environ:?}: {found}");
        assert_eq!(found.is_empty(), reason.is_empty(), "{environ:?}: {found}");
    }
}

#[test]
fn an_exhausted_limit_is_the_reason() {
    let recorded = Recorded::new();
    recorded.put("proc/7/cgroup", "0::/a\n");
    recorded.put("sys/fs/cgroup/cgroup.controllers", "hugetlb\n");
    recorded.put("sys/fs/cgroup/a/hugetlb.2MB.max", "0\n");
    recorded.put(&format!("{THP}/enabled"), "[always] madvise never\n");
    let wanted = "/sys/fs/cgroup/a/hugetlb.2MB.max is used up";
    assert_eq!(recorded.reason("heap"), wanted);
}

#[test]
fn a_system_v_segment_needs_the_group_or_a_capability() {
    let recorded = Recorded::new();
    let smaps = SMAPS.replace("/dev/zero (deleted)", "/SYSV00000000 (deleted)");
    recorded.put("proc/7/smaps", &smaps);
    recorded.put("proc/7/environ", "HUGETLB_SHM=yes\0");
    let ample = MEMINFO.replace("Total: 0", "Total: 9");
    recorded.put("proc/meminfo", &ample.replace("Free: 0", "Free: 9"));
    recorded.put("proc/sys/vm/hugetlb_shm_group", "500\n");
    const NONE: &str = "0000000000000000";
    for (groups, capabilities, is_short) in [
        ("100 101", NONE, true),
        ("100 500", NONE, false),
        ("", "000001ffffffffff", false),
    ] {
        let status = format!(
            "Gid:\t65534\t65534\t65534\t65534\nGroups:\t{groups}\nCapEff:\t{capabilities}\n"
        );
        recorded.put("proc/7/status", &status);
        let found = recorded.reason("shm");
        assert_eq!(
            found.contains("vm.hugetlb_shm_group, which is 500 now"),
            is_short,
            "{found}"
        );
    }
}
