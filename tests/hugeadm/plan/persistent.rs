//! `--print-persistent`: each setting goes into the file that a boot reads it from.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use crate::support::tool::hugeadm;
use crate::support::tree;

const NODES: &str = "x86_64-8node";
const SMALL: &str = "x86_64-no-1g";

fn printed(dir: &Path) -> String {
    let ran = hugeadm(dir, &["--print-persistent"]);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    ran.out
}

/// Returns the lines for one file.
fn lines<'t>(text: &'t str, place: &str) -> Vec<&'t str> {
    let head = format!("# {place}");
    let lines = text.lines().skip_while(|line| *line != head).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

fn replace(dir: &Path, file: &str, from: &str, to: &str) {
    let path = dir.join(file);
    let text = tree::text(&path);
    assert!(text.contains(from), "{file} has no {from}");
    tree::write(&path, &text.replace(from, to));
}

fn command_line(dir: &Path, text: &str) {
    let path = dir.join("proc/cmdline");
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path);
    file.unwrap().write_all(text.as_bytes()).unwrap();
}

const LINE: &str = "the kernel's command line";
const SYSCTL: &str = "/etc/sysctl.d/90-hugepages.conf";

#[test]
fn a_default_of_1g_comes_from_the_command_line() {
    let dir = tree::machine(NODES);
    let dir = dir.path();
    replace(
        dir,
        "proc/meminfo",
        "Hugepagesize:       2048 kB",
        "Hugepagesize:    1048576 kB",
    );
    tree::write(&dir.join("proc/sys/vm/nr_hugepages"), "3\n");
    let text = printed(dir);
    let line = lines(&text, LINE);
    assert!(
        line[0].starts_with("default_hugepagesz=1G ")
            && line[0].contains("hugepagesz=1G hugepages=3"),
        "{text}"
    );
    assert!(!text.contains("vm.nr_hugepages"), "{text}");
}

#[test]
fn node_shares_need_tmpfiles_before_linux_5_16() {
    let dir = tree::machine(NODES);
    let dir = dir.path();
    assert!(lines(&printed(dir), LINE)[0].contains("hugepages=0:64,3:10"));
    tree::write(&dir.join("proc/sys/kernel/osrelease"), "5.10.0-28-amd64\n");
    let text = printed(dir);
    assert!(!text.contains("hugepages=0:"), "{text}");
    let file = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
    let tmpfiles = lines(&text, "/etc/tmpfiles.d/90-hugepages.conf");
    assert!(
        tmpfiles.contains(&format!("w {file} - - - - 64").as_str()),
        "{text}"
    );
    // The mount that reserves some of these pages depends on it.
    let waits = "size=67108864,min_size=16777216,X-mount.mkdir,nofail,\
                 x-systemd.after=systemd-tmpfiles-setup.service 0 0";
    assert!(text.contains(waits), "{text}");
}

#[test]
fn a_mount_that_reserves_pages_waits_for_the_sysctl() {
    let dir = tree::machine(SMALL);
    let dir = dir.path();
    tree::write(&dir.join("proc/sys/vm/nr_hugepages"), "9\n");
    let mount = |options: &str| {
        format!("90 1 0:90 / /mnt/a rw,relatime - hugetlbfs none rw,pagesize=2M{options}\n")
    };
    let table = dir.join("proc/self/mountinfo");
    let text = tree::text(&table);
    tree::write(&table, &(text + &mount("") + &mount(",min_size=4194304")));
    let text = printed(dir);
    assert_eq!(lines(&text, SYSCTL), ["vm.nr_hugepages = 9"], "{text}");
    // Only one line: the other mount on this directory is hidden.
    let fstab = lines(&text, "/etc/fstab");
    let of_it: Vec<&&str> = fstab
        .iter()
        .filter(|line| line.contains("/mnt/a"))
        .collect();
    assert_eq!(
        of_it,
        [
            &"none /mnt/a hugetlbfs rw,relatime,pagesize=2M,min_size=4194304,X-mount.mkdir,nofail,\
           x-systemd.after=systemd-sysctl.service 0 0"
        ]
    );
}

#[test]
fn a_count_on_the_command_line_stays_there() {
    let dir = tree::machine(SMALL);
    let dir = dir.path();
    tree::write(&dir.join("proc/sys/vm/nr_hugepages"), "3\n");
    let removed = "the kernel's command line: remove";
    command_line(dir, "ro hugepages=3\n");
    let text = printed(dir);
    assert!(!text.contains("vm.nr_hugepages"), "{text}");
    assert_eq!(lines(&text, removed), ["hugepages=3"]);
    assert!(
        lines(&text, LINE)[0].starts_with("hugepagesz=2M hugepages=3"),
        "{text}"
    );
    // An existing parameter needs no change.
    command_line(dir, "ro hugepagesz=2M hugepages=3\n");
    let text = printed(dir);
    assert_eq!(lines(&text, removed), [""; 0]);
    // A pool that is empty now must stay empty after a boot.
    tree::write(&dir.join("proc/sys/vm/nr_hugepages"), "0\n");
    assert_eq!(lines(&printed(dir), removed), ["hugepagesz=2M hugepages=3"]);
}

#[test]
fn min_free_kbytes_is_persistent_if_the_kernel_does_not_set_it() {
    let dir = tree::machine(SMALL);
    let dir = dir.path();
    assert!(!printed(dir).contains("min_free_kbytes"));
    let enabled = "sys/kernel/mm/transparent_hugepage/enabled";
    tree::write(&dir.join(enabled), "always madvise [never]\n");
    assert!(printed(dir).contains("vm.min_free_kbytes = 45056\n"));
}
