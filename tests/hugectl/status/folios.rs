//! The figures of a stopped process equal those of smaps, and `--sizes` adds up.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use super::json;
use crate::hugectl::place::{Place, as_nobody};
use crate::support::live::{Live, machine, skip_aloud};
use crate::support::needs;
use crate::support::open_ended;
use crate::support::running::Running;
use crate::support::tool::Run;

/// Maps transparent huge pages, base pages, folios of 64 kB if the kernel allows them, and
/// pages of the pools of the given sizes.
const MIXED: &str = "
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
static char *part(size_t size, size_t align, int advice) {
    char *all = mmap(0, size + 2 * align, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *part = (char *)(((unsigned long)all + align) & ~(align - 1));
    mprotect(part, size, PROT_READ | PROT_WRITE);
    madvise(part, size, advice);
    memset(part, 1, size);
    return part;
}
int main(int argc, char **argv) {
    part(8 << 20, 2 << 20, MADV_HUGEPAGE);
    part(3 << 20, 2 << 20, MADV_NOHUGEPAGE);
    part(1 << 20, 1 << 16, MADV_HUGEPAGE);
    char *zero = mmap(0, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 1 << 20; i += 4096) (void)*(volatile char *)(zero + i);
    for (int i = 1; i < argc; i++) {
        size_t page = strtoul(argv[i], 0, 10);
        int flags = MAP_ANONYMOUS | MAP_HUGETLB | (__builtin_ctzl(page) << MAP_HUGE_SHIFT);
        char *own = mmap(0, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE | flags, -1, 0);
        char *shared = mmap(0, page, PROT_READ | PROT_WRITE, MAP_SHARED | flags, -1, 0);
        if (own == MAP_FAILED || shared == MAP_FAILED) return 1;
        own[page] = *shared = 1;
    }
    puts(\"ready\");
    fflush(stdout);
    return getchar() == 'x';
}";

/// A process that stays stopped until this is dropped.
struct Stopped<'r>(&'r Running);

impl Stopped<'_> {
    fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.0.pid().parse().unwrap()), signal).unwrap();
    }

    fn new(running: &Running) -> Stopped<'_> {
        let stopped = Stopped(running);
        stopped.signal(Signal::SIGSTOP);
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", running.pid())).unwrap();
        while !state().contains(") T ") {
            std::thread::sleep(Duration::from_millis(1));
        }
        stopped
    }

    /// Returns the sum of smaps fields in bytes, without the kernel's mappings such as the vDSO.
    fn smaps_bytes(&self, fields: &[&str]) -> u64 {
        let smaps = std::fs::read_to_string(format!("/proc/{}/smaps", self.0.pid())).unwrap();
        let (mut sum, mut counts) = (0, true);
        for line in smaps.lines() {
            match line.split_once(':') {
                Some((name, value)) if fields.contains(&name) && counts => {
                    let kib = value.trim().strip_suffix(" kB").unwrap();
                    sum += kib.parse::<u64>().unwrap() * 1024;
                }
                _ if line.contains('-') && line.contains(" 00:00 ") => {
                    counts = !line.contains("[v");
                }
                _ if line.contains('-') && line.contains('/') => counts = true,
                _ => {}
            }
        }
        sum
    }
}

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.signal(Signal::SIGCONT);
    }
}

/// Sums over all segments: resident, huge by size, folios by size.
type Sums = (u64, BTreeMap<u64, u64>, BTreeMap<u64, u64>);

fn sums(document: &Value) -> Sums {
    let mut sums = Sums::default();
    for row in document["segments"].as_array().unwrap() {
        sums.0 += row["resident"].as_u64().unwrap();
        for (kind, sum) in [("huge", &mut sums.1), ("folios", &mut sums.2)] {
            for (size, bytes) in row[kind].as_object().into_iter().flatten() {
                *sum.entry(size.parse().unwrap()).or_default() += bytes.as_u64().unwrap();
            }
        }
    }
    sums
}

const RESIDENT: [&str; 3] = ["Rss", "Private_Hugetlb", "Shared_Hugetlb"];
const PMD: [&str; 3] = ["AnonHugePages", "ShmemPmdMapped", "FilePmdMapped"];

/// Compares the status of a stopped program that uses these pools.
fn check(place: &Place, sizes: &[u64], mut also: impl FnMut(&Sums)) {
    let mut command = Command::new(place.build("mixed", MIXED, &[]));
    command.args(sizes.iter().map(u64::to_string));
    let running = Running::ready(&mut command);
    let stopped = Stopped::new(&running);
    let document = json(&place.run(&["--status", &running.pid(), "--sizes", "--json"]));
    let sums = sums(&document);
    let (resident, huge, folios) = &sums;
    assert_eq!(*resident, stopped.smaps_bytes(&RESIDENT));
    assert_eq!(folios.values().sum::<u64>(), *resident, "{folios:?}");
    // A page of the private mapping and one of the shared.
    let mut pooled: BTreeMap<u64, u64> = sizes.iter().map(|size| (*size, 2 * size)).collect();
    let all = stopped.smaps_bytes(&["Private_Hugetlb", "Shared_Hugetlb"]);
    assert_eq!(pooled.values().sum::<u64>(), all);
    let thp = stopped.smaps_bytes(&PMD);
    if thp > 0 {
        *pooled.entry(2 << 20).or_default() += thp;
    }
    assert_eq!(*huge, pooled);
    if let Some(size) = sizes.first() {
        let mut rows = document["segments"].as_array().unwrap().iter();
        let shm = rows.find(|row| row["segment"] == "shm").unwrap();
        assert_eq!(shm["mechanism"], "hugetlb", "{shm}");
        assert_eq!(shm["huge"][size.to_string()], *size, "{shm}");
    }
    for (size, bytes) in huge {
        assert!(folios[size] >= *bytes, "{folios:?}");
    }
    also(&sums);
}

fn thp_64k(live: &Live, word: &str) -> bool {
    live.hugeadm(&[&format!("--thp-size=64kB:{word}")]).status == 0
}

#[test]
fn the_figures_equal_those_of_smaps() {
    let Some(live) = machine("the figures of a stopped process") else {
        return;
    };
    let place = Place::new();
    let size = live.default_size().get();
    live.set_pool(4);
    check(&place, &[], |_| {});
    check(&place, &[size], |(_, huge, folios)| {
        assert_eq!(folios[&size], huge[&size]);
    });
    // Only in long runs, and if memory is not too fragmented.
    let is_long = open_ended::duration() >= Duration::from_secs(20);
    if is_long && live.hugeadm(&["--pool-pages-min", "1GB:2"]).status == 0 {
        check(&place, &[size, 1 << 30], |(_, _, folios)| {
            assert_eq!(folios[&(1 << 30)], 2 << 30);
        });
    }
}

/// smaps doesn't show folios smaller than a huge page.
#[test]
fn folios_of_64_kb() {
    let Some(live) = machine("folios_of_64_kb") else {
        return;
    };
    if !live.can_use_thp() || !thp_64k(&live, "never") {
        return skip_aloud("there are no transparent huge pages of 64 kB");
    }
    let place = Place::new();
    check(&place, &[], |(_, _, folios)| {
        assert!(
            folios.get(&(64 << 10)).is_none_or(|bytes| *bytes < 1 << 20),
            "{folios:?}"
        );
    });
    assert!(thp_64k(&live, "madvise"));
    let fallbacks = || {
        let file = "/sys/kernel/mm/transparent_hugepage/hugepages-64kB/stats/anon_fault_fallback";
        std::fs::read_to_string(file).unwrap_or_default()
    };
    let before = fallbacks();
    check(&place, &[], |(_, _, folios)| {
        let found = folios.get(&(64 << 10)).copied().unwrap_or(0);
        // Unless memory was fragmented.
        assert!(found >= 1 << 20 || fallbacks() != before, "{folios:?}");
    });
}

#[test]
fn sizes_need_root() {
    if !needs::root("sizes of folios as nobody") {
        return;
    }
    let place = Place::new();
    let running = Running::ready(&mut as_nobody(&Command::new(place.build(
        "mixed",
        MIXED,
        &[],
    ))));
    let why = "no folio sizes, which only root can read: cannot read /proc/kpageflags: permission denied (EACCES)";
    let args = ["--status", &running.pid(), "--sizes"];
    let warned = as_nobody(&place.command(&args)).ran();
    assert_eq!(
        (warned.status, warned.err),
        (0, format!("hugectl: warning: {why}\n"))
    );
    assert!(!warned.out.contains("folios"), "{}", warned.out);
    let args = [&args[..], &["--json"]].concat();
    let value = json(&as_nobody(&place.command(&args)).ran());
    assert_eq!(value["warnings"], serde_json::json!([why]));
    assert_eq!(sums(&value).2, BTreeMap::new());
    let table = place.run(&["--status", &running.pid(), "--sizes"]).out;
    let mut heads = table.lines().filter(|line| line.starts_with("segment "));
    assert_eq!(
        heads.nth(1),
        Some("segment   folios of  resident kB   share")
    );
}
