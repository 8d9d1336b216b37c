//! The output of `--print-persistent` restores the state at the next boot. The guest
//! applies it in systemd's order: mounts without dependencies first, since they can be
//! made at any time, then sysctl.d, tmpfiles.d, and mounts that depend on these.

use super::node;
use crate::support::guest::{GuestNode, guest};

/// Prints the state as tables, and the files that restore it.
const SHOW: &str = "hugeadm --pool-list --pool-list-nodes --list-all-mounts; \
                    grep -H . /proc/sys/vm/hugetlb_shm_group \
                    /sys/kernel/mm/transparent_hugepage/khugepaged/max_ptes_none; \
                    hugeadm --print-persistent";

/// Applies these files. busybox' mount lacks systemd's options and some of util-linux'.
const CARRY_OUT: &str = "
    mounts() {
        sed -e 's/,X-mount.mkdir//' -e 's/,nofail//' -e 's/,x-systemd.after=[^, ]*//' |
            while read none point type options rest; do
                mkdir -p $point && mount -t hugetlbfs -o $options none $point
            done
    }
    touch /etc/fstab /etc/sysctl.conf /etc/tmpfiles
    grep -v x-systemd.after= /etc/fstab | mounts
    sysctl -p >/dev/null
    while read w path m u g a value; do echo $value > $path; done </etc/tmpfiles
    grep x-systemd.after= /etc/fstab | mounts
    true";

const REMOVED: &str = "the kernel's command line: remove";

/// Returns the lines for one file.
fn lines<'t>(text: &'t str, place: &str) -> Vec<&'t str> {
    let head = format!("# {place}");
    let lines = text.lines().skip_while(|line| *line != head).skip(1);
    lines.take_while(|line| !line.is_empty()).collect()
}

/// Returns the state without kernel parameters that the next boot drops. Mounts are
/// sorted, since their order may change.
fn state(text: &str) -> Vec<&str> {
    let removed = lines(text, REMOVED);
    let head = format!("# {REMOVED}");
    let kept = text
        .lines()
        .filter(|line| *line != head && !removed.contains(line));
    let mut kept: Vec<&str> = kept.filter(|line| !line.is_empty()).collect();
    kept.sort_unstable();
    kept
}

/// Creates a state, boots with the printed files, and compares. Returns the output.
fn comes_back(test: &str, nodes: &[GuestNode], parameters: &str, commands: &str) -> Option<String> {
    let mut guest = guest(test, nodes)?;
    guest.boot_with(parameters);
    let first = guest.run(&[commands, SHOW]);
    assert_eq!((first[0].status, first[0].err.as_str()), (0, ""));
    let printed = first[1].out.clone();
    // With KASLR the kernel might be in the only whole gigabyte.
    let words = lines(&printed, "the kernel's command line");
    guest.boot_with(&format!("nokaslr {}", words.first().unwrap_or(&"")));
    for (file, place) in [
        ("/etc/sysctl.conf", "/etc/sysctl.d/90-hugepages.conf"),
        ("/etc/fstab", "/etc/fstab"),
        ("/etc/tmpfiles", "/etc/tmpfiles.d/90-hugepages.conf"),
    ] {
        let lines: String = lines(&printed, place)
            .iter()
            .map(|line| format!("{line}\n"))
            .collect();
        guest.text(file, &lines);
    }
    let second = guest.run(&[CARRY_OUT, SHOW]);
    assert_eq!((second[0].status, second[0].err.as_str()), (0, ""));
    assert_eq!(state(&printed), state(&second[1].out));
    Some(printed)
}

/// The mount needs its pages at mount time.
#[test]
fn a_mount_that_reserves_pages_comes_back_at_boot() {
    let printed = comes_back(
        "a boot with a mount that reserves pages",
        &[node(1024, true)],
        "",
        "hugeadm --thp-never --set-recommended-min_free_kbytes --pool-pages-min 2MB:30 \
         --pool-pages-max 2MB:44 --create-global-mounts --min-size 40M 2>/dev/null",
    );
    let Some(printed) = printed else { return };
    for line in [
        "x-systemd.after=systemd-sysctl.service",
        "vm.min_free_kbytes = ",
        "vm.nr_overcommit_hugepages = 14",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
}

#[test]
fn uneven_shares_a_default_of_1g_and_a_closed_mount_come_back_at_boot() {
    let printed = comes_back(
        "a boot with a default of 1 GiB",
        &[node(768, true), node(2304, true)],
        "nokaslr default_hugepagesz=1G hugepages=1",
        "hugeadm --pool-spread 2MB@0*2,1:30 --pool-pages-max 2MB:44 --set-shm-group daemon \
         --thp-madvise --thp-defrag defer --thp-max-ptes-none 100 --create-user-mounts daemon \
         --max-size 8M --min-size 4M 2>/dev/null && \
         hugeadm --create-global-mounts && cd /var/lib/hugetlbfs/global && \
         chmod 0700 pagesize-1GB && chown 1:1 pagesize-2MB",
    );
    let Some(printed) = printed else { return };
    for line in [
        "hugepagesz=2M hugepages=0:20,1:10",
        "default_hugepagesz=1G",
        "hugepagesz=1G hugepages=1",
        "nr_overcommit_hugepages - - - - 14",
        "mode=700,pagesize=1024M",
        "uid=1,gid=1,mode=1777,pagesize=2M",
    ] {
        assert!(printed.contains(line), "{line}: {printed}");
    }
}
