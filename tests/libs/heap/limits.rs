//! Limits that keep a heap from huge pages are reported and kill no process.
#![expect(clippy::disallowed_methods, reason = "writes sysctls")]

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::libs::smaps::HeapPages;
use crate::support::empty_pool::empty_pool_machine;
use crate::support::live::machine;
use crate::support::program::{Libc, build};
use crate::support::restore::log_failure;
use crate::support::tool::{Ran, Run, hugectl, tool};

/// hugectl doesn't see the prctl: the library reports it.
#[test]
fn transparent_pages_disabled_by_prctl_are_reported() {
    let Some(live) = machine("prctl and a pool") else {
        return;
    };
    let programs = build("no_thp", Libc::Glibc, &[]).zip(build("blocks", Libc::Glibc, &[]));
    let Some((no_thp, blocks)) = programs else {
        return;
    };
    for (pages, heap) in [(0, "--heap=thp"), (20, "--heap")] {
        live.set_pool(pages);
        let mut command = tool("hugectl");
        command.args([heap, "--report"]).arg(&no_thp).arg(&blocks);
        let ran = command.args(["medium", "100"]).ran();
        let used = HeapPages::find(&ran.out, "medium");
        assert_eq!((ran.status, used.thp), (0, 0), "{ran:?}");
        assert_eq!(used.hugetlb > 0, pages > 0, "{ran:?}");
        let warnings = ran.err.lines().filter(|line| line.contains("warning: "));
        let warnings = warnings.filter(|line| line.contains("disabled by prctl"));
        assert_eq!(warnings.count(), 1, "{pages}: {ran:?}");
        let heap = ran.err.lines().find(|line| line.starts_with("heap "));
        assert!(heap.unwrap().contains("disabled by prctl"), "{ran:?}");
    }
}

#[test]
fn a_limited_address_space_is_reported_and_suffices() {
    let Some(live) = machine("ulimit -v") else {
        return;
    };
    let Some(program) = build("blocks", Libc::Glibc, &[]) else {
        return;
    };
    for pages in [0, 80] {
        live.set_pool(pages);
        for (kib, mode) in [
            (600_000, "medium"),
            (600_000, "one"),
            (2_000_000, "realloc"),
        ] {
            let mut command = Command::new("sh");
            command.args(["-c", &format!("ulimit -v {kib} && exec \"$@\""), "sh"]);
            command.arg(hugectl()).arg("--heap").arg(&program);
            let ran = command.args([mode, "200"]).ran();
            assert_eq!(ran.status, 0, "{kib} {mode}: {ran:?}");
            let used = HeapPages::find(&ran.out, mode);
            let huge = used.share(used.hugetlb + used.thp);
            assert!(huge >= 50, "{kib} {mode}: {ran:?}");
            assert_eq!(ran.err.matches("(ulimit -v)").count(), 1, "{ran:?}");
        }
    }
}

/// A heap's reservation scales with the limit: from 8 MB above what the program needs without us,
/// every limit suffices.
#[test]
fn a_narrow_address_space_suffices() {
    let Some(_live) = empty_pool_machine("a narrow address space") else {
        return;
    };
    for libc in Libc::ALL {
        let Some(program) = build("contract/leaves_room", libc, &[]) else {
            continue;
        };
        let under = |kib: u32, words: &[&str]| -> Ran {
            let mut command = Command::new("env");
            command.args(words).args(["sh", "-c"]);
            command
                .arg(format!("ulimit -v {kib} && exec \"$0\""))
                .arg(&program);
            command.ran()
        };
        let suffices = |kib: &u32| under(*kib, &[]).status == 0;
        let least = (20_000..60_000).step_by(2000).find(suffices).unwrap();
        let hugectl = hugectl().to_str().unwrap();
        for kib in (least + 8000..150_000).step_by(5000) {
            let ran = under(kib, &[hugectl, "--heap=thp", "-q"]);
            assert_eq!(ran.status, 0, "{libc:?} {kib}, plain {least}: {ran:?}");
        }
    }
}

/// A sysctl, restored when dropped.
struct Sysctl {
    path: &'static str,
    before: String,
}

impl Sysctl {
    fn set(path: &'static str, value: &str) -> Sysctl {
        let before = fs::read_to_string(path).unwrap();
        fs::write(path, value).unwrap();
        Sysctl { path, before }
    }
}

impl Drop for Sysctl {
    fn drop(&mut self) {
        // A drop during a panic must not panic again, or the pools would not be restored.
        log_failure(
            fs::write(self.path, self.before.trim()),
            Path::new(self.path),
        );
    }
}

fn committed_kib() -> u64 {
    let text = fs::read_to_string("/proc/meminfo").unwrap();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Committed_AS:"));
    let kib = line.unwrap().trim().trim_end_matches(" kB");
    kib.parse().unwrap()
}

/// With `vm.overcommit_memory=2` a heap gets huge pages, but no more memory than without us.
#[test]
fn strict_overcommit_leaves_a_heap_its_huge_pages() {
    let Some(live) = machine("overcommit") else {
        return;
    };
    let Some(program) = build("blocks", Libc::Glibc, &[]) else {
        return;
    };
    for pages in [0, 120] {
        live.set_pool(pages);
        // Enough for a virtual machine that another test starts, too.
        let room = committed_kib() + (16 << 20);
        // Restored in reverse order.
        let ratio = Sysctl::set("/proc/sys/vm/overcommit_ratio", "50");
        let limit = Sysctl::set("/proc/sys/vm/overcommit_kbytes", &room.to_string());
        let strict = Sysctl::set("/proc/sys/vm/overcommit_memory", "2");
        let run = |mode: &str, mib: &str| -> Ran {
            let mut command = tool("hugectl");
            command.arg("--heap").arg(&program).args([mode, mib]);
            command.ran()
        };
        let rans = ["medium", "realloc", "threads"].map(|mode| (mode, run(mode, "200")));
        let too_much = run("one", "100000");
        drop((strict, limit, ratio));
        for (mode, ran) in rans {
            assert_eq!(ran.status, 0, "{mode}: {ran:?}");
            let used = HeapPages::find(&ran.out, mode);
            let huge = used.share(used.hugetlb + used.thp);
            assert!(huge >= 90, "{mode}: {ran:?}");
        }
        assert_eq!(too_much.status, 3, "{too_much:?}");
    }
}
