//! `--who`: the holders of pool pages.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use super::succeeds_silently;
use crate::support::live::{Live, machine};
use crate::support::needs::mounts;
use crate::support::program::{Libc, build};
use crate::support::tool::sh;

/// `holders.c`, a program that holds pages in every way until this is dropped; System V segments are
/// given by ID.
struct Holders {
    child: Child,
    attached_segment: u64,
    unused_segment: u64,
    forked_pid: u64,
}

impl Holders {
    fn start(live: &Live, dir: &str) -> Option<Holders> {
        let mut command = Command::new(build("holders", Libc::Glibc, &[])?);
        command.arg(live.default_size().get().to_string()).arg(dir);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let numbers: Vec<u64> = (line.split_whitespace())
            .map(|word| word.parse().unwrap())
            .collect();
        let [attached_segment, unused_segment, forked_pid] = numbers[..] else {
            panic!("{line}: {:?}", child.wait());
        };
        Some(Holders {
            child,
            attached_segment,
            unused_segment,
            forked_pid,
        })
    }
}

impl Drop for Holders {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

/// Returns a pool of 60 pages, a mount, and a program that holds pages.
fn machine_with_holders(test: &str) -> Option<(Live, String, Holders)> {
    let live = machine(test)?;
    live.set_pool(60);
    let dir = live.global_mount();
    let holders = Holders::start(&live, &dir)?;
    Some((live, dir, holders))
}

/// Returns what `--who` reports of the default pool.
fn default_pool_report(live: &Live) -> Value {
    let ran = live.hugeadm(&["--who", "--json"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    let all: Value = serde_json::from_str(&ran.out).unwrap();
    let size = live.default_size().get();
    let pools = all["pools"].as_array().unwrap();
    let pool = pools.iter().find(|pool| pool["size"] == size);
    pool.unwrap().clone()
}

/// Returns the used and the reserved pages of all holders whose `field` is `value`.
fn pages(report: &Value, field: &str, value: &Value) -> (u64, u64) {
    let sum = |reserved: bool| -> u64 {
        let holders = report["holders"].as_array().unwrap().iter();
        let matching =
            holders.filter(|it| it[field] == *value && (it["kind"] == "reservation") == reserved);
        matching.map(|it| it["pages"].as_u64().unwrap()).sum()
    };
    (sum(false), sum(true))
}

#[test]
fn every_page_has_a_holder() {
    let Some((live, dir, holders)) = machine_with_holders("who holds pages") else {
        return;
    };
    let found = default_pool_report(&live);
    let pool = live.now().default_pool().unwrap().clone();
    assert_eq!(found["total"], 60);
    assert_eq!(
        (pool.free.get(), pool.reserved.get()),
        (40, 12),
        "{found:#}"
    );
    assert_eq!(found["unaccounted"], 0, "{found:#}");
    assert_eq!(found["unaccounted_reserved"], 0, "{found:#}");
    let parent = u64::from(holders.child.id());
    for (field, value, wanted) in [
        ("pid", Value::from(parent), (6, 3)),
        ("pid", Value::from(holders.forked_pid), (3, 0)),
        ("id", Value::from(holders.attached_segment), (1, 1)),
        ("id", Value::from(holders.unused_segment), (2, 1)),
        ("path", Value::from("/anon_hugepage (deleted)"), (1, 3)),
        ("path", Value::from("/memfd:open (deleted)"), (2, 1)),
        ("path", Value::from(format!("{dir}/kept")), (2, 2)),
        (
            "path",
            Value::from(format!("{dir}/deleted (deleted)")),
            (2, 0),
        ),
        ("path", Value::from(format!("{dir}/or phan")), (1, 1)),
    ] {
        assert_eq!(pages(&found, field, &value), wanted, "{value}: {found:#}");
    }
    drop(holders);
    sh(&format!("rm '{dir}/kept' '{dir}/or phan'"));
    let after = default_pool_report(&live);
    assert_eq!(after["holders"].as_array().unwrap().len(), 0, "{after:#}");
}

#[test]
fn unused_files_and_segments_are_listed_with_the_command_that_frees_them() {
    let Some((live, dir, holders)) = machine_with_holders("unused files and segments") else {
        return;
    };
    let commands = || -> Vec<String> {
        let found = default_pool_report(&live);
        let holders = found["holders"].as_array().unwrap().iter();
        let used = holders.filter(|it| it["kind"] != "reservation");
        used.filter_map(|it| it["command"].as_str().map(str::to_owned))
            .collect()
    };
    let segment = format!("ipcrm -m {}", holders.unused_segment);
    let file = format!("rm '{dir}/or phan'");
    let mut listed = commands();
    listed.sort();
    assert_eq!(listed, [segment, file]);
    let text = live.hugeadm(&["--who"]).out;
    for command in &listed {
        assert!(
            text.contains(&format!("unused; to free it: {command}\n")),
            "{text}"
        );
        assert_eq!(sh(command).status, 0, "{command}");
    }
    assert_eq!(commands(), [""; 0]);
    drop(holders);
    sh(&format!("rm '{dir}/kept'"));
    succeeds_silently(&live, &["--pool-pages-min", "DEFAULT:0"]);
}

/// hugeadm makes no claims about pages of processes that it cannot see.
#[test]
fn an_ordinary_user_sees_which_processes_are_hidden() {
    let Some((_live, dir, holders)) = machine_with_holders("who holds pages, for a user") else {
        return;
    };
    let hugeadm = crate::support::tool::tool("hugeadm");
    let hugeadm = hugeadm.get_program().to_str().unwrap();
    let public_dir = tempfile::tempdir().unwrap();
    sh(&format!(
        "chmod 755 {0}; cp {hugeadm} {0}/hugeadm",
        public_dir.path().display()
    ));
    let ran = sh(&format!(
        "setpriv --reuid=65534 --regid=65534 --clear-groups {}/hugeadm --who",
        public_dir.path().display()
    ));
    assert_eq!(ran.status, 0, "{ran:?}");
    let hidden = format!(
        "not looked at: process {} (holders-Glibc), which has",
        holders.child.id()
    );
    assert!(ran.err.contains(&hidden), "{ran:?}");
    assert!(!ran.out.contains("to free it"), "{ran:?}");
    assert!(ran.out.contains("in use, not accounted for"), "{ran:?}");
    drop(holders);
    sh(&format!("rm '{dir}/kept' '{dir}/or phan'"));
}

#[test]
fn pages_of_a_lazily_unmounted_file_system_have_holders() {
    let Some(live) = machine("a lazily unmounted file system") else {
        return;
    };
    if !mounts("a lazily unmounted file system") {
        return;
    }
    live.set_pool(60);
    let dir = tempfile::tempdir().unwrap();
    let mount_point = dir.path().display().to_string();
    assert_eq!(
        sh(&format!("mount -t hugetlbfs none {mount_point}")).status,
        0
    );
    let Some(holders) = Holders::start(&live, &mount_point) else {
        return;
    };
    let unmount = format!("rm '{mount_point}/or phan'; umount -l {mount_point}");
    assert_eq!(sh(&unmount).status, 0);
    let found = default_pool_report(&live);
    assert_eq!(
        pages(&found, "path", &Value::from("/kept")),
        (2, 2),
        "{found:#}"
    );
    assert_eq!(found["unaccounted"], 0, "{found:#}");
    assert_eq!(found["unaccounted_reserved"], 0, "{found:#}");
    drop(holders);
}

#[test]
fn surplus_and_reserved_pages_have_holders() {
    let Some(live) = machine("surplus and reserved pages") else {
        return;
    };
    live.set_pool(28);
    succeeds_silently(&live, &["--pool-pages-max", "DEFAULT:40"]);
    let global = live.global_mount();
    let Some(holders) = Holders::start(&live, &global) else {
        return;
    };
    let found = default_pool_report(&live);
    assert_eq!(found["surplus"], 4, "{found:#}");
    assert_eq!(found["reserved"], 12, "{found:#}");
    assert_eq!(found["unaccounted"], 0, "{found:#}");
    assert_eq!(found["unaccounted_reserved"], 0, "{found:#}");
    drop(holders);
    sh(&format!("rm '{global}/kept' '{global}/or phan'"));
}
