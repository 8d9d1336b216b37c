//! Limits, shared memory, and transparent huge pages.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use hugetools_model::thp::Thp;

use super::succeeds_silently;
use crate::support::live::{Live, machine, skip};
use crate::support::program::{Libc, build};
use crate::support::tool::copy;

#[test]
fn only_the_group_opens_userfaultfd() {
    let Some(live) = machine("group of userfaultfd") else {
        return;
    };
    if !live.now().userfault.device {
        skip::<()>(
            "/dev/userfaultfd",
            "there is no /dev/userfaultfd (it needs Linux 6.1)",
        );
        return;
    }
    let gid = nix::unistd::Group::from_name("daemon")
        .unwrap()
        .unwrap()
        .gid
        .as_raw();
    succeeds_silently(&live, &["--set-userfaultfd-group", "root"]);
    let opens = || {
        let mut command = Command::new("sh");
        command
            .args(["-c", ": <> /dev/userfaultfd"])
            .uid(65534)
            .gid(gid);
        command.output().unwrap().status.success()
    };
    assert!(!opens());
    let planned = live
        .hugeadm(&["--dry-run", "--set-userfaultfd-group", "daemon"])
        .out;
    let command = format!("chown 0:{gid} /dev/userfaultfd && chmod 0660 /dev/userfaultfd\n");
    assert!(planned.ends_with(&command), "{planned}");
    assert!(!opens(), "a dry run changes nothing");
    succeeds_silently(&live, &["--set-userfaultfd-group", "daemon"]);
    assert_eq!(live.now().userfault.group(), Some(gid));
    assert!(opens());
    let again = live.hugeadm(&["-v", "--set-userfaultfd-group", "daemon"]);
    assert!(again.err.contains("already"), "{again:?}");
    assert!(
        !live
            .hugeadm(&["--explain"])
            .out
            .contains("--set-userfaultfd-group")
    );
}

/// The program runs as a user with one group and no right to lock memory.
#[test]
fn members_of_the_group_make_shared_memory() {
    let Some(live) = machine("shared memory of a user") else {
        return;
    };
    let Some(program) = build("segment", Libc::Glibc, &[]) else {
        return;
    };
    // The build directory may be closed to other users.
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let program_copy = dir.path().join("segment");
    copy(program, &program_copy);
    let (nobody, daemon) = (65534, 1);
    let size = live.default_size().get();
    let make = |gid: u32| {
        let mut command = Command::new(&program_copy);
        command.arg(size.to_string()).uid(nobody).gid(gid);
        String::from_utf8(command.output().unwrap().stdout).unwrap()
    };
    live.set_pool(4);
    succeeds_silently(&live, &["--set-shm-group", "root"]);
    assert_eq!(make(daemon), "refused: Operation not permitted\n");
    succeeds_silently(&live, &["--set-shm-group", "daemon"]);
    assert_eq!(make(daemon), "made\n");
    assert_eq!(make(nobody), "refused: Operation not permitted\n");
}

#[test]
fn recommendations_never_lower_a_limit() {
    let Some(live) = machine("recommendations") else {
        return;
    };
    let args = [
        "--set-recommended-min_free_kbytes",
        "--set-recommended-shmmax",
    ];
    let limits = |live: &Live| {
        let now = live.now().sysctl;
        (now.min_free_kbytes.unwrap(), now.shmmax.unwrap())
    };
    let set = |file: &str, value: u64| {
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!("echo {value} > /proc/sys/{file}"));
        assert!(command.status().unwrap().success());
    };
    // The kernel set this at boot if transparent huge pages are on.
    let recommended = limits(&live).0;
    live.set_pool(8);
    succeeds_silently(&live, &["--pool-pages-max", "DEFAULT:8"]);
    set("vm/min_free_kbytes", recommended / 2);
    set("kernel/shmmax", 4096);
    succeeds_silently(&live, &args);
    let shmmax = 8 * live.default_size().get();
    assert!(limits(&live).0 > recommended / 2);
    assert_eq!(limits(&live).1, shmmax);
    let raised = (limits(&live).0 + 5000, shmmax + 1);
    set("vm/min_free_kbytes", raised.0);
    set("kernel/shmmax", raised.1);
    succeeds_silently(&live, &args);
    assert_eq!(limits(&live), raised);
}

#[test]
fn transparent_huge_pages() {
    let Some(live) = machine("transparent huge pages") else {
        return;
    };
    let thp = |live: &Live| live.now().thp;
    if thp(&live).is_none() {
        return skip("transparent huge pages", "this machine has none").unwrap_or(());
    }
    let word =
        |live: &Live, of: fn(&Thp) -> &Option<String>| of(&thp(live).unwrap()).clone().unwrap();
    for mode in ["always", "madvise", "never"] {
        succeeds_silently(&live, &[&format!("--thp-{mode}")]);
        assert_eq!(word(&live, |thp| &thp.enabled), mode);
    }
    for mode in ["always", "defer", "defer+madvise", "madvise", "never"] {
        succeeds_silently(&live, &["--thp-defrag", mode]);
        assert_eq!(word(&live, |thp| &thp.defrag), mode);
    }
    for mode in ["within_size", "advise", "never"] {
        succeeds_silently(&live, &["--thp-shmem", mode]);
        assert_eq!(word(&live, |thp| &thp.shmem_enabled), mode);
    }
    succeeds_silently(
        &live,
        &[
            "--thp-khugepaged-pages=1000",
            "--thp-khugepaged-scan-sleep=2000",
            "--thp-khugepaged-alloc-sleep=3000",
            "--thp-max-ptes-none=40",
            "--thp-use-zero-page=off",
        ],
    );
    // Sorted by name.
    let numbers = live.now().thp_settings.numbers.into_values();
    assert_eq!(numbers.collect::<Vec<_>>(), [3000, 40, 1000, 2000, 0]);
    let sizes = thp(&live).unwrap().sizes.into_iter();
    for size in sizes.filter(|size| size.enabled.is_some()) {
        for mode in ["always", "madvise", "inherit", "never"] {
            let size = size.size;
            succeeds_silently(&live, &["--thp-size", &format!("{size}:{mode}")]);
            let sizes = thp(&live).unwrap().sizes;
            let found = sizes.iter().find(|found| found.size == size).unwrap();
            assert_eq!(found.enabled.as_deref(), Some(mode));
        }
    }
    // The kernel refuses more base pages than a huge page has; hugeadm doesn't check.
    let ran = live.hugeadm(&["--thp-max-ptes-none", "100000"]);
    assert_eq!(ran.status, 1);
    assert!(
        ran.err.contains("/khugepaged/max_ptes_none: ") && ran.err.contains("(EINVAL)"),
        "{ran:?}"
    );
}

#[test]
fn hvo_sets_the_sysctl() {
    let Some(live) = machine("HVO") else { return };
    if live.now().sysctl.hugetlb_optimize_vmemmap.is_none() {
        return skip("HVO", "this kernel has none").unwrap_or(());
    }
    for (switch, value) in [("on", 1), ("off", 0)] {
        succeeds_silently(&live, &["--hvo", switch]);
        assert_eq!(live.now().sysctl.hugetlb_optimize_vmemmap, Some(value));
    }
}
