//! Compares the effects of our hugeadm and libhugetlbfs 2.23's on the kernel of a virtual machine.

use std::path::Path;

use crate::support::guest::{Guest, GuestNode, guest};
use crate::support::libhugetlbfs::{HUGEADM, can_run_hugeadm};
use crate::support::tool::Ran;

/// Resets the kernel: ten pool pages, five surplus pages allowed, no hugetlbfs mounts, and fixed
/// values for the other settings.
const RESET: &str = "
for point in $(grep ' hugetlbfs ' /proc/mounts | cut -d' ' -f2); do umount $point; done
rm -rf /var/lib/hugetlbfs
echo 0 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages
echo 10 > /proc/sys/vm/nr_hugepages
echo 5 > /proc/sys/vm/nr_overcommit_hugepages
echo 0 > /proc/sys/vm/hugetlb_shm_group
echo 18446744073692774399 > /proc/sys/kernel/shmmax
echo 20000 > /proc/sys/vm/min_free_kbytes
cd /sys/kernel/mm/transparent_hugepage
echo always > enabled
cd khugepaged
echo 4096 > pages_to_scan; echo 60000 > alloc_sleep_millisecs; echo 10000 > scan_sleep_millisecs
";

/// Prints all state that the tested options change. Owners and modes come from `stat`:
/// `/proc/mounts` shows them only if they were mount options.
const STATE: &str = "
cd /proc/sys
grep -H . vm/nr_hugepages vm/nr_overcommit_hugepages vm/hugetlb_shm_group kernel/shmmax vm/min_free_kbytes
cd /sys/kernel/mm
grep -H . hugepages/*/nr_hugepages hugepages/*/nr_overcommit_hugepages transparent_hugepage/enabled
grep -H . transparent_hugepage/khugepaged/*_millisecs transparent_hugepage/khugepaged/pages_to_scan
grep ' hugetlbfs ' /proc/mounts | sed -E 's/,(uid|gid|mode)=[0-9]+//g'
find /var/lib/hugetlbfs -type d -exec stat -c '%n %u:%g %a' {} + 2>/dev/null | sort
";

fn guest_with_both_tools(test: &str) -> Option<Guest> {
    if !can_run_hugeadm(test) {
        return None;
    }
    let node = GuestNode {
        megabytes: 1900,
        cpu: true,
    };
    let mut guest = guest(test, &[node])?;
    guest.install(Path::new(HUGEADM), "/bin/theirs");
    guest.text("/reset", RESET);
    guest.text("/state", STATE);
    Some(guest)
}

/// Runs both tools with each case's options. Returns state and exit status, libhugetlbfs' first.
fn compare(guest: &Guest, cases: &[&str]) -> Vec<[(String, i32); 2]> {
    let command = |tool: &str, options: &str| {
        format!("sh /reset; {tool} {options} >/dev/null 2>&1; status=$?; sh /state; exit $status")
    };
    let commands: Vec<String> = cases
        .iter()
        .flat_map(|case| ["theirs", "hugeadm"].map(|tool| command(tool, case)))
        .collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let results = guest.run(&commands);
    let state = |ran: &Ran| (ran.out.clone(), ran.status);
    results
        .chunks(2)
        .map(|pair| [state(&pair[0]), state(&pair[1])])
        .collect()
}

#[test]
fn the_same_options_lead_to_the_same_state() {
    let Some(guest) = guest_with_both_tools("libhugetlbfs in a virtual machine") else {
        return;
    };
    let cases = [
        "--pool-pages-min DEFAULT:12",
        "--pool-pages-min 2M:-3",
        "--pool-pages-min 2M:+3",
        "--pool-pages-min 2M:0x14",
        "--pool-pages-min 2M:32M",
        "--pool-pages-max 2M:+20",
        "--pool-pages-max 2M:4",
        "--pool-pages-max DEFAULT:0 --pool-pages-min DEFAULT:7",
        "--obey-mempolicy --pool-pages-min 2M:6 --set-shm-group daemon",
        "--thp-never --thp-khugepaged-pages 100 --thp-khugepaged-alloc-sleep 7 \
         --thp-khugepaged-scan-sleep 8 --thp-always",
        "--create-global-mounts --max-size 1G --max-inodes 10",
        "--create-mounts --create-user-mounts daemon --create-group-mounts daemon",
    ];
    for (case, [theirs, ours]) in cases.iter().zip(compare(&guest, &cases)) {
        assert!(
            theirs.0.contains("vm/nr_hugepages:"),
            "{case}: {}",
            theirs.0
        );
        assert_eq!(theirs, ours, "{case}");
    }
}
