//! Virtual machines and allocators with memory of their own, which `--anon` puts on huge
//! pages: Java with each of its collectors, PHP, Node.js, jemalloc, tcmalloc.

use std::process::Command;

use serde_json::Value;

use super::Plain;
use crate::libs::judge::Judged;
use crate::support::live::skip;
use crate::support::needs::libraries;
use crate::support::program::{Libc, build};
use crate::support::still::{Still, without_pool};
use crate::support::tool::{Ran, tool};

fn ready(test: &str) -> Option<Still> {
    let live = without_pool(test)?;
    live.thp_serves().then_some(live)
}

fn is_there(name: &str) -> bool {
    let found = Command::new(name).arg("--version").output().is_ok();
    if !found {
        let _ = skip::<()>(name, &format!("there is no {name}"));
    }
    found
}

/// Private memory in the report of a program: resident bytes, and huge ones.
fn anon(words: &[&str]) -> (u64, u64) {
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = dir.path().join("report");
    let mut command = tool("hugectl");
    command
        .arg("--anon")
        .arg(format!("--report={}", file.display()));
    let ran: Ran = command.args(words).output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    let text = crate::support::tool::sh(&format!("cat {}", file.display())).out;
    let last: Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
    let rows = last["segments"].as_array().unwrap();
    let row = rows.iter().find(|row| row["segment"] == "anon").unwrap();
    let huge = row["huge"].as_object().unwrap().values();
    let huge = huge.filter_map(Value::as_u64).sum();
    (row["resident"].as_u64().unwrap(), huge)
}

#[test]
fn the_java_heap_is_huge_with_each_collector() {
    let Some(_live) = ready("java with --anon") else {
        return;
    };
    if !is_there("java") {
        return;
    }
    for collector in ["G1", "Parallel", "Serial"] {
        let collector = format!("-XX:+Use{collector}GC");
        let heap = ["-Xmx1g", "-Xms300m", "-XX:+AlwaysPreTouch"];
        let words = [&["java", &collector][..], &heap, &["-version"]].concat();
        let (resident, huge) = anon(&words);
        assert!(
            resident >= 300 << 20 && huge * 100 >= resident * 90,
            "{collector}: {huge} of {resident}"
        );
    }
}

#[test]
fn what_php_maps_is_huge() {
    let Some(_live) = ready("php with --anon") else {
        return;
    };
    if !is_there("php") {
        return;
    }
    // Ended without its destructors, so that the memory is still there.
    let script = "ini_set('memory_limit', -1); $a = [];\
                  for ($i = 0; $i < 100000; $i++) $a[] = str_repeat('x', 1000);\
                  echo shell_exec('cat /proc/' . getmypid() . '/smaps');";
    let mut command = tool("hugectl");
    let ran: Ran = command
        .args(["--anon", "php", "-r", script])
        .output()
        .unwrap()
        .into();
    assert_eq!(ran.status, 0, "{ran:?}");
    let kilobytes: u64 = ran
        .out
        .lines()
        .filter_map(|line| line.strip_prefix("AnonHugePages:"))
        .filter_map(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok())
        .sum();
    assert!(kilobytes >= 90 << 10, "{kilobytes} kB");
}

/// Whether a program that takes 200 MB in steps, linked with these flags, has them huge
/// with --anon; nothing where it cannot be built.
fn steps_are_huge(flags: &[&str]) {
    if !libraries("steps", flags) {
        return;
    }
    let Some(program) = build("steps", Libc::Glibc, flags) else {
        return;
    };
    let mut command = tool("hugectl");
    command.arg("--anon").arg(program).args(["+200", "=full"]);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    let full = Judged::find(&ran.out, "full");
    assert!(full.share(full.thp) >= 90, "{ran:?}");
}

#[test]
fn what_jemalloc_maps_is_huge() {
    let Some(_live) = ready("jemalloc with --anon") else {
        return;
    };
    steps_are_huge(&["-Wl,--no-as-needed", "-ljemalloc"]);
}

/// It moves the end of the data segment in steps of 1 MB, as a library and inside of a
/// program.
#[test]
fn what_tcmalloc_takes_step_by_step_is_huge() {
    let Some(_live) = ready("tcmalloc with --anon") else {
        return;
    };
    steps_are_huge(&["-Wl,--no-as-needed", "-ltcmalloc_minimal"]);
    steps_are_huge(&[
        "-Wl,--whole-archive",
        "-l:libtcmalloc_minimal.a",
        "-Wl,--no-whole-archive",
        "-lstdc++",
        "-lpthread",
        "-lm",
    ]);
}

#[test]
fn the_end_of_the_data_segment_is_where_the_program_sets_it() {
    let Some(_live) = ready("sbrk with --anon") else {
        return;
    };
    let Some(program) = build("program_break", Libc::Glibc, &[]) else {
        return;
    };
    let plain: Ran = Command::new(&program).output().unwrap().into();
    assert!(plain.out.contains("malloc goes on: 1"), "{plain:?}");
    for options in [&["--anon"][..], &["--heap=thp", "--anon"], &["--shm"]] {
        let mut command = tool("hugectl");
        let ran: Ran = command.args(options).arg(&program).output().unwrap().into();
        assert_eq!(ran, plain, "{options:?}");
    }
}

#[test]
fn they_do_what_they_do_without() {
    let Some(_live) = ready("virtual machines with --anon") else {
        return;
    };
    let all = [&["--anon", "-q"][..], &["--anon", "--heap=thp", "-q"]];
    let php = "php -r '$a = range(1, 300000); shuffle($a); sort($a); echo md5(implode($a));'";
    let node = "node -e 'const a = Array.from({length: 300000}, (_, i) => `${i * 7919 % 300007}`);\
                a.sort(); console.log(a.length, a[7], Buffer.alloc(9000000, 7).at(-1))'";
    for (name, script) in [
        ("java", "java -Xshare:auto -version"),
        ("php", php),
        ("node", node),
    ] {
        if let Some(plain) = Plain::run(name, script) {
            plain.is_same_under(&all);
        }
    }
}
