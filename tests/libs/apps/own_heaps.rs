//! Programs with an allocator of their own under `--anon`: Java, PHP, Node.js, jemalloc, tcmalloc.

use std::process::Command;

use serde_json::Value;

use super::Plain;
use crate::libs::smaps::HeapPages;
use crate::support::empty_pool::thp_machine;
use crate::support::needs::{libraries, programs};
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, Run, tool};

fn under_anon(words: &[&str]) -> Ran {
    let mut command = tool("hugectl");
    let ran = command.arg("--anon").args(words).ran();
    assert_eq!(ran.status, 0, "{ran:?}");
    ran
}

#[test]
fn the_java_heap_is_huge_with_each_collector() {
    let Some(_live) = thp_machine("java with --anon") else {
        return;
    };
    if !programs("java with --anon", &["java"]) {
        return;
    }
    for collector in ["G1", "Parallel", "Serial"] {
        let collector = format!("-XX:+Use{collector}GC");
        let heap = ["-Xmx1g", "-Xms300m", "-XX:+AlwaysPreTouch"];
        let report = ["--report", "--json", "-q"];
        let words = [&report[..], &["java", &collector], &heap, &["-version"]].concat();
        let ran = under_anon(&words);
        let last: Value = serde_json::from_str(ran.err.lines().last().unwrap()).unwrap();
        let rows = last["segments"].as_array().unwrap();
        let row = rows.iter().find(|row| row["segment"] == "anon").unwrap();
        let huge = row["huge"].as_object().unwrap().values();
        let huge: u64 = huge.filter_map(Value::as_u64).sum();
        let resident = row["resident"].as_u64().unwrap();
        assert!(
            resident >= 300 << 20 && huge * 100 >= resident * 90,
            "{collector}: {huge} of {resident}"
        );
    }
}

#[test]
fn mappings_of_php_are_huge() {
    let Some(_live) = thp_machine("php with --anon") else {
        return;
    };
    if !programs("php with --anon", &["php"]) {
        return;
    }
    let script = "ini_set('memory_limit', -1); $a = [];\
                  for ($i = 0; $i < 100000; $i++) $a[] = str_repeat('x', 1000);\
                  echo shell_exec('cat /proc/' . getmypid() . '/smaps');";
    let ran = under_anon(&["php", "-r", script]);
    let huge = |line: &str| {
        let rest = line.strip_prefix("AnonHugePages:")?;
        rest.trim().strip_suffix(" kB")?.parse::<u64>().ok()
    };
    let kilobytes: u64 = ran.out.lines().filter_map(huge).sum();
    assert!(kilobytes >= 90 << 10, "{kilobytes} kB");
}

/// tcmalloc moves the program break in steps of 1 MB, both as a shared and as a static library.
#[test]
fn memory_of_jemalloc_and_tcmalloc_is_huge() {
    let Some(_live) = thp_machine("allocators with --anon") else {
        return;
    };
    let whole = [
        "-Wl,--whole-archive",
        "-l:libtcmalloc_minimal.a",
        "-Wl,--no-whole-archive",
        "-lstdc++",
        "-lm",
    ];
    for flags in [
        &["-Wl,--no-as-needed", "-ljemalloc"][..],
        &["-Wl,--no-as-needed", "-ltcmalloc_minimal"],
        &whole,
    ] {
        if !libraries("steps", flags) {
            continue;
        }
        let program = build("steps", Libc::Glibc, flags).unwrap();
        let ran = under_anon(&[program.to_str().unwrap(), "+200", "=full"]);
        let full = HeapPages::find(&ran.out, "full");
        assert!(full.share(full.thp) >= 90, "{flags:?}: {ran:?}");
    }
}

#[test]
fn sbrk_returns_what_it_returns_without_us() {
    let Some(_live) = thp_machine("sbrk with --anon") else {
        return;
    };
    let Some(program) = build("program_break", Libc::Glibc, &[]) else {
        return;
    };
    let plain = Command::new(&program).ran();
    assert!(plain.out.contains("malloc works: 1"), "{plain:?}");
    for options in [&["--anon"][..], &["--heap=thp", "--anon"]] {
        let mut command = tool("hugectl");
        let ran = command.args(options).arg(&program).ran();
        assert_eq!(ran, plain, "{options:?}");
    }
}

#[test]
fn virtual_machines_print_the_same() {
    let Some(_live) = thp_machine("virtual machines with --anon") else {
        return;
    };
    let php = "php -r '$a = range(1, 300000); shuffle($a); sort($a); echo md5(implode($a));'";
    let node = "node -e 'const a = Array.from({length: 300000}, (_, i) => `${i * 7919 % 300007}`);\
                a.sort(); console.log(a.length, a[7], Buffer.alloc(9000000, 7).at(-1))'";
    for (name, script) in [
        ("java", "java -Xshare:auto -version"),
        ("php", php),
        ("node", node),
    ] {
        if let Some(plain) = Plain::run(name, script) {
            plain.is_same_under(&["--anon", "--heap=thp", "-q"]);
        }
    }
}
