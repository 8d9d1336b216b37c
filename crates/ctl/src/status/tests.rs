use super::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};

#[expect(clippy::disallowed_methods, reason = "live processes are looked at")]
fn live() -> Root {
    Root::live()
}

/// A program that waits until its standard input ends.
struct Waiting(Child);

impl Waiting {
    fn start(program: &Path) -> Waiting {
        use std::io::Read;
        let mut child = Command::new(program)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        // It writes a byte when it has touched its memory.
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
fn rows(json: &str) -> BTreeMap<(String, Option<String>), (u64, u64)> {
    let value: serde_json::Value = serde_json::from_str(json).unwrap();
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
fn data_and_bss_are_told_apart_by_the_headers() {
    for args in [&["-no-pie"][..], &["-pie"], &["-static"], &["-static-pie"]] {
        let dir = tempfile::tempdir().unwrap();
        let program = build(dir.path(), args);
        let waiting = Waiting::start(&program);
        let text = Snapshot::take(&live(), waiting.pid())
            .unwrap()
            .to_text(true);
        let rows = rows(&text);
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

/// The sum over all segments is what the kernel counts for the process.
#[test]
fn nothing_is_lost_or_counted_twice() {
    let dir = tempfile::tempdir().unwrap();
    let waiting = Waiting::start(&build(dir.path(), &[]));
    let root = live();
    let snapshot = Snapshot::take(&root, waiting.pid()).unwrap();
    let rollup = root.read(&waiting.pid().path("smaps_rollup")).unwrap();
    let rollup = String::from_utf8(rollup).unwrap();
    let line = rollup
        .lines()
        .find_map(|line| line.strip_prefix("Rss:"))
        .unwrap();
    let kib: u64 = line.trim().trim_end_matches(" kB").parse().unwrap();
    let resident: u64 = rows(&snapshot.to_text(true))
        .values()
        .map(|row| row.1)
        .sum();
    // The kernel's own pages, vdso and vvar, belong to no segment.
    let rest = (kib * 1024).saturating_sub(resident);
    assert!(
        resident <= kib * 1024 && rest <= 64 << 10,
        "{resident} of {kib} kB"
    );
}

#[test]
fn an_executable_that_is_gone_is_still_known() {
    let dir = tempfile::tempdir().unwrap();
    let program = build(dir.path(), &["-no-pie"]);
    let waiting = Waiting::start(&program);
    std::fs::remove_file(&program).unwrap();
    let text = Snapshot::take(&live(), waiting.pid())
        .unwrap()
        .to_text(true);
    let gone = Some(format!("{} (deleted)", program.display()));
    let bss = rows(&text)[&("bss".to_owned(), gone)];
    assert!(near(bss.1, 8 << 20), "{bss:?}");
}

#[test]
fn a_process_that_is_not_there() {
    let failure = Snapshot::take(&live(), Pid::new(u32::MAX).unwrap()).unwrap_err();
    assert_eq!(
        (failure.status(), failure.to_string()),
        (125, "there is no process 4294967295".to_owned())
    );
    let mut child = Command::new("/bin/true").spawn().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    let dead = Snapshot::take(&live(), Pid::new(child.id()).unwrap()).unwrap_err();
    child.wait().unwrap();
    assert!(dead.to_string().contains("has ended"), "{dead}");
}

/// A recorded process: the tree's files count, and no other.
struct Recorded(tempfile::TempDir);

impl Recorded {
    fn new(files: &[(&str, &str)]) -> Recorded {
        let recorded = Recorded(tempfile::tempdir().unwrap());
        for (path, text) in files {
            recorded.put(path, text.as_bytes());
        }
        recorded
    }

    fn put(&self, path: &str, bytes: &[u8]) {
        let path = self.0.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::File::create(path)
            .unwrap()
            .write_all(bytes)
            .unwrap();
    }

    fn value(&self) -> serde_json::Value {
        let root = Root::at(self.0.path()).unwrap();
        let snapshot = Snapshot::take(&root, Pid::new(7).unwrap()).unwrap();
        serde_json::from_str(&snapshot.to_text(true)).unwrap()
    }
}

const SMAPS: &str = "\
00400000-00401000 r-xp 00000000 fe:00 9 /bin/sh\nRss: 4 kB\n\
00600000-00601000 rw-p 00001000 fe:00 9 /bin/sh\nRss: 4 kB\n\
300000000000-300004000000 rw-p 00000000 00:00 0 \nRss: 65536 kB\nAnonHugePages: 2048 kB\n\
7f0000000000-7f0001000000 rw-s 00000000 00:01 5 /dev/zero (deleted)\nRss: 16384 kB\n\
7f1000000000-7f1000001000 r-xp 00000000 fe:00 8 /run/hugetools/x/libhugetlbfs_heap.so\nRss: 4 kB\n";

/// The pages of the pool.
const POOL: &str = "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages";

const MEMINFO: &str = "MemTotal: 100 kB\nHugepagesize: 2048 kB\n";

fn never() -> Recorded {
    Recorded::new(&[
        ("proc/7/smaps", SMAPS),
        ("proc/7/environ", "HUGETLB_MORECORE=yes\0"),
        ("proc/meminfo", MEMINFO),
        (POOL, "0\n"),
        (
            "sys/kernel/mm/transparent_hugepage/enabled",
            "always madvise [never]\n",
        ),
        (
            "sys/kernel/mm/transparent_hugepage/hpage_pmd_size",
            "2097152\n",
        ),
    ])
}

#[test]
fn a_recorded_process_without_its_files() {
    let value = never().value();
    assert_eq!(value["exe"], "/bin/sh");
    let row = |name: &str| {
        let rows = value["segments"].as_array().unwrap();
        rows.iter()
            .find(|row| row["segment"] == name)
            .unwrap()
            .clone()
    };
    assert_eq!(row("text")["object"], "/bin/sh");
    assert_eq!(row("data")["mapped"], 4096);
    assert_eq!(row("heap")["huge"]["2097152"], 2 << 20);
    assert_eq!(row("heap")["mechanism"], "thp");
    assert_eq!(
        row("heap")["reason"],
        "the pool of 2MB pages is empty; transparent huge pages are set to never"
    );
    assert_eq!(row("shm")["reason"], "not asked for, see hugectl --shm");
}

/// `su -`, `sudo` and their like: what was asked of them is not in what they
/// start.
#[test]
fn what_was_asked_and_lost_is_not_called_not_asked_for() {
    let recorded = never();
    let reason = |recorded: &Recorded, name: &str| {
        let value = recorded.value();
        let rows = value["segments"].as_array().unwrap();
        let row = rows.iter().find(|row| row["segment"] == name).unwrap();
        row["reason"].as_str().unwrap().to_owned()
    };
    recorded.put("proc/7/environ", b"PATH=/bin\0");
    let said = reason(&recorded, "shm");
    assert!(said.contains("or what started it dropped"), "{said}");

    let variables = b"HUGETLB_SHM=yes\0HUGETLB_MORECORE=yes\0";
    recorded.put("proc/7/environ", variables);
    recorded.put(
        "proc/7/smaps",
        SMAPS.replace("libhugetlbfs", "libother").as_bytes(),
    );
    for segment in ["shm", "heap"] {
        let said = reason(&recorded, segment);
        assert!(said.contains("the library is not in it"), "{said}");
    }
    // A static program's own glibc needs none.
    let tunables = [&variables[..], b"GLIBC_TUNABLES=glibc.malloc.hugetlb=1\0"].concat();
    recorded.put("proc/7/environ", &tunables);
    let said = reason(&recorded, "heap");
    assert!(said.contains("the pool of 2MB pages is empty"), "{said}");
}

/// The pool has pages; whether they may be had is a matter of rights.
#[test]
fn a_segment_without_the_right_to_pool_pages_has_that_as_its_reason() {
    let recorded = never();
    let segment = "/SYSV00000000 (deleted)";
    recorded.put(
        "proc/7/smaps",
        SMAPS.replace("/dev/zero (deleted)", segment).as_bytes(),
    );
    recorded.put("proc/7/environ", b"HUGETLB_SHM=yes\0");
    recorded.put(POOL, b"9\n");
    recorded.put(&POOL.replace("/nr_", "/free_"), b"9\n");
    recorded.put("proc/sys/vm/hugetlb_shm_group", b"500\n");
    let reason = |groups: &str, capabilities: &str| {
        let status = format!(
            "Gid:\t65534\t65534\t65534\t65534\nGroups:\t{groups}\nCapEff:\t{capabilities}\n"
        );
        recorded.put("proc/7/status", status.as_bytes());
        let value = recorded.value();
        let rows = value["segments"].as_array().unwrap();
        let row = rows.iter().find(|row| row["segment"] == "shm").unwrap();
        row["reason"].as_str().unwrap().to_owned()
    };
    let none = "0000000000000000";
    let said = reason("100 101", none);
    assert!(
        said.contains("vm.hugetlb_shm_group, which is 500 now"),
        "{said}"
    );
    for (groups, capabilities) in [("100 500", none), ("", "000001ffffffffff")] {
        let said = reason(groups, capabilities);
        assert!(!said.contains("hugetlb_shm_group"), "{said}");
    }
}

/// Redis clears its environment for its title: then it is not known what was
/// asked for.
#[test]
fn nothing_is_said_of_an_environment_that_was_written_over() {
    let recorded = never();
    recorded.put("proc/7/environ", b"\0\0\0\0\0\0\0\0");
    let value = recorded.value();
    for segment in value["segments"].as_array().unwrap() {
        let reason = segment["reason"].as_str().unwrap_or_default();
        assert!(!reason.contains("not asked for"), "{segment}");
    }
}

#[test]
fn a_link_out_of_the_tree_is_not_followed() {
    let recorded = never();
    std::fs::create_dir(recorded.0.path().join("bin")).unwrap();
    std::os::unix::fs::symlink("/bin/sh", recorded.0.path().join("bin/sh")).unwrap();
    // The headers of the machine's own shell would say something else.
    let value = recorded.value();
    let rows = value["segments"].as_array().unwrap();
    let data = rows.iter().find(|row| row["segment"] == "data").unwrap();
    assert_eq!(
        (&data["mapped"], &data["object"]),
        (&4096.into(), &"/bin/sh".into())
    );
}

#[test]
fn a_limit_that_is_used_up_is_named() {
    let recorded = never();
    recorded.put("proc/7/cgroup", b"0::/a\n");
    recorded.put("sys/fs/cgroup/cgroup.controllers", b"hugetlb\n");
    recorded.put("sys/fs/cgroup/a/hugetlb.2MB.max", b"0\n");
    recorded.put(
        "sys/kernel/mm/transparent_hugepage/enabled",
        b"[always] madvise never\n",
    );
    let value = recorded.value();
    let rows = value["segments"].as_array().unwrap();
    let heap = rows.iter().find(|row| row["segment"] == "heap").unwrap();
    assert_eq!(
        heap["reason"],
        "/sys/fs/cgroup/a/hugetlb.2MB.max is used up"
    );
}
