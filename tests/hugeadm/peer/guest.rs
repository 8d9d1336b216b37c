//! Compares with the hugeadm of libhugetlbfs 2.23 on a real kernel: from the same state,
//! the same options lead to the same state.

use std::path::Path;

use super::meant;
use crate::support::guest::{Guest, GuestNode, guest};
use crate::support::peer::{PEER, is_here};
use crate::support::tool::Ran;

/// Ten pages, five on demand, no mounts, settings as at boot.
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

/// Prints everything that the options change. The owner and mode of a mount are those of
/// its directory.
const STATE: &str = "
cd /proc/sys
grep -H . vm/nr_hugepages vm/nr_overcommit_hugepages vm/hugetlb_shm_group kernel/shmmax vm/min_free_kbytes
cd /sys/kernel/mm
grep -H . hugepages/*/nr_hugepages hugepages/*/nr_overcommit_hugepages transparent_hugepage/enabled
grep -H . transparent_hugepage/khugepaged/*_millisecs transparent_hugepage/khugepaged/pages_to_scan
grep ' hugetlbfs ' /proc/mounts | sed -E 's/,(uid|gid|mode)=[0-9]+//g'
find /var/lib/hugetlbfs -type d -exec stat -c '%n %u:%g %a' {} + 2>/dev/null | sort
";

fn both(test: &str) -> Option<Guest> {
    if !is_here(test) {
        return None;
    }
    let node = GuestNode {
        megabytes: 1900,
        cpu: true,
    };
    let mut guest = guest(test, &[node])?;
    guest.install(Path::new(PEER), "/bin/peer");
    guest.text("/reset", RESET);
    guest.text("/state", STATE);
    Some(guest)
}

/// Returns the state and exit status of both tools for each case.
fn compare(guest: &Guest, cases: &[&str]) -> Vec<[(String, i32); 2]> {
    let command = |tool: &str, options: &str| {
        format!("sh /reset; {tool} {options} >/dev/null 2>&1; status=$?; sh /state; exit $status")
    };
    let commands: Vec<String> = cases
        .iter()
        .flat_map(|case| ["peer", "hugeadm"].map(|tool| command(tool, case)))
        .collect();
    let commands: Vec<&str> = commands.iter().map(String::as_str).collect();
    let answers = guest.run(&commands);
    let state = |ran: &Ran| (ran.out.clone(), ran.status);
    answers
        .chunks(2)
        .map(|pair| [state(&pair[0]), state(&pair[1])])
        .collect()
}

#[test]
fn the_same_options_lead_to_the_same_state() {
    let Some(guest) = both("the peer in a virtual machine") else {
        return;
    };
    let cases = [
        "--pool-pages-min DEFAULT:12",
        "--pool-pages-min 2M:8",
        "--pool-pages-min 2M:20",
        "--pool-pages-min 2M:+3",
        "--pool-pages-min 2M:-3",
        "--pool-pages-min 2M:-30",
        "--pool-pages-min 2M:32M",
        "--pool-pages-max 2M:30",
        "--pool-pages-max 2M:4",
        "--pool-pages-max DEFAULT:-2",
        "--pool-pages-max DEFAULT:0 --pool-pages-min DEFAULT:7",
        "--hard --pool-pages-min 2M:14",
        "--obey-mempolicy --pool-pages-min 2M:6",
        "--set-shm-group daemon",
        "--set-shm-group 1",
        "--thp-always",
        "--thp-madvise",
        "--thp-never",
        "--thp-never --thp-always",
        "--thp-khugepaged-pages 100 --thp-khugepaged-alloc-sleep 7 --thp-khugepaged-scan-sleep 8",
        "--create-mounts",
        "--create-user-mounts daemon",
        "--create-group-mounts daemon",
        "--create-global-mounts --max-size 1G --max-inodes 10",
        "--create-mounts --create-global-mounts --create-user-mounts daemon --create-group-mounts daemon",
    ];
    for (case, [peer, ours]) in cases.iter().zip(compare(&guest, &cases)) {
        assert!(peer.0.contains("vm/nr_hugepages:"), "{case}: {}", peer.0);
        assert_eq!(peer, ours, "{case}");
    }
}

/// Options, the row of the table, the peer's status and ours.
const DIFFERENCES: [(&str, &str, i32, i32); 7] = [
    (
        "--pool-pages-max 1G:4",
        "A refused write: silent, status 0",
        0,
        1,
    ),
    (
        "--pool-pages-min 1G:4",
        "More than all of the memory: as much as there is, status 0",
        0,
        2,
    ),
    (
        // The first gigabyte has holes, the second is incomplete.
        "--pool-pages-min 1G:1",
        "A pool that cannot be filled: a warning, status 0",
        0,
        3,
    ),
    (
        "--enable-zone-movable",
        "A refused write: silent, status 0",
        0,
        1,
    ),
    (
        "--set-recommended-shmmax",
        "Recommendations lower limits, and count zones without memory",
        0,
        0,
    ),
    (
        "--set-recommended-min_free_kbytes",
        "Recommendations lower limits, and count zones without memory",
        0,
        0,
    ),
    (
        "--pool-pages-min 2M:7 stray",
        "A stray operand is found after everything was done, status 1",
        1,
        2,
    ),
];

/// Rows of the man page's table that need a kernel.
#[test]
fn the_differences_are_those_of_the_table() {
    let Some(guest) = both("differences of the peer in a virtual machine") else {
        return;
    };
    let options = DIFFERENCES.map(|(options, ..)| options);
    let found = compare(&guest, &options);
    for ((case, row, theirs, ours), [peer, mine]) in DIFFERENCES.iter().zip(&found) {
        meant(row);
        assert_eq!((peer.1, mine.1), (*theirs, *ours), "{case}");
    }
    let number = |of: usize, file: &str| {
        [0, 1].map(|tool| {
            let mut lines = found[of][tool].0.lines();
            let line = lines.find_map(|line| line.strip_prefix(file)).unwrap();
            line.trim_start_matches(':').parse::<u64>().unwrap()
        })
    };
    let [peer, ours] = number(4, "kernel/shmmax");
    assert_eq!((peer, ours), (15 << 21, 18_446_744_073_692_774_399));
    // Two of the zones have memory; counting all of them would reserve more than there
    // is.
    let [peer, ours] = number(5, "vm/min_free_kbytes");
    assert!(ours > 20_000 && ours <= 1900 * 1024 / 20 && peer != ours);
    assert_eq!(number(6, "vm/nr_hugepages"), [7, 10]);
}

/// Rows that need more than options.
#[test]
fn existing_mounts_mtab_users_and_swap() {
    let Some(guest) = both("more differences of the peer") else {
        return;
    };
    meant("A mount whose --max-size is less than one page is made, and holds nothing");
    meant("Mounts are made, then given owner and mode; existing ones keep theirs");
    meant("Mounts are recorded in an /etc/mtab that is a file");
    meant("A dry run of mounts needs root");
    meant("Temporary swap is made by a shell, and stays when it fails or the run is killed");
    let point = "/var/lib/hugetlbfs/global/pagesize-2MB";
    let commands = ["peer", "hugeadm"].map(|tool| {
        [
            format!("sh /reset; {tool} --create-global-mounts >/dev/null; chmod 700 {point}; {tool} --create-global-mounts >/dev/null; stat -c %a {point}"),
            format!("sh /reset; {tool} --create-mounts --max-size 64M >/dev/null; grep -c ' hugetlbfs ' /proc/mounts"),
            format!("sh /reset; >/etc/mtab; {tool} --create-mounts >/dev/null; wc -l < /etc/mtab; rm /etc/mtab"),
            format!("sh /reset; su -s /bin/sh daemon -c '/bin/{tool} --dry-run --create-mounts' >/dev/null; echo $?"),
            format!("sh /reset; {tool} --add-temp-swap --pool-pages-min 2M:+1 >/dev/null; find /var/lib/hugetlbfs -type f | wc -l"),
        ]
    });
    let commands: Vec<&str> = commands.iter().flatten().map(String::as_str).collect();
    let said: Vec<String> = guest
        .run(&commands)
        .into_iter()
        .map(|ran| ran.out.trim().to_owned())
        .collect();
    assert_eq!(
        said,
        ["700", "2", "2", "1", "1", "1777", "1", "0", "0", "0"]
    );
}
