//! Pools on several nodes, in virtual machines: exact shares, or a message about a short node.

use std::collections::BTreeMap;

use crate::support::guest::{Guest, GuestNode, guest, newest};
use crate::support::program::{Libc, build};
use crate::support::tool::Ran;

const SHOW: &str = "hugeadm --pool-list-nodes";

const fn node(megabytes: u32, cpu: bool) -> GuestNode {
    GuestNode { megabytes, cpu }
}

/// Returns the pages of a size on each node, from `--pool-list-nodes`.
fn shares(ran: &Ran, size: u64) -> BTreeMap<u32, u64> {
    let mut shares = BTreeMap::new();
    for line in ran.out.lines().skip(1) {
        let words: Vec<u64> = line
            .split_whitespace()
            .map(|word| word.parse().unwrap())
            .collect();
        if words[0] == size && words[2] > 0 {
            shares.insert(u32::try_from(words[1]).unwrap(), words[2]);
        }
    }
    shares
}

/// Returns minimum and maximum of the default size, from `--pool-list`.
fn default_row(ran: &Ran) -> (String, String) {
    let row = ran.out.lines().find(|line| line.ends_with('*')).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    (words[1].to_owned(), words[3].to_owned())
}

const MIB2: u64 = 2 << 20;

/// Runs commands and checks the shares after each; then runs `more` and returns its results.
fn run_and_check_shares(guest: &Guest, cases: &[(&str, &[(u32, u64)])], more: &[&str]) -> Vec<Ran> {
    let commands = cases.iter().flat_map(|(command, _)| [*command, SHOW]);
    let commands: Vec<&str> = commands.chain(more.iter().copied()).collect();
    let mut results = guest.run(&commands);
    let more = results.split_off(2 * cases.len());
    for ((command, wanted), results) in cases.iter().zip(results.chunks(2)) {
        assert_eq!(
            (results[0].status, results[0].err.as_str()),
            (0, ""),
            "{command}"
        );
        let wanted: BTreeMap<u32, u64> = wanted.iter().copied().collect();
        assert_eq!(shares(&results[1], MIB2), wanted, "{command}");
    }
    more
}

/// The last commands use RAM disks as swap, then make `/run` and `/sys` read-only as in a
/// container: pools change without lock and journal, and failed writes are reported.
#[test]
fn two_nodes_ram_disks_and_read_only_directories() {
    let nodes = [node(512, true), node(2560, true)];
    let Some(mut guest) = guest("two nodes", &nodes) else {
        return;
    };
    let Some(program) = build("on_node", Libc::Glibc, &[]) else {
        return;
    };
    guest.install(&program, "/bin/on_node");
    let modules = newest("/lib/modules", "", "-cloud-amd64").expect("the kernel's modules");
    guest.install(&modules.join("kernel/drivers/block/brd.ko"), "/brd.ko");
    // The second node has two whole gigabytes. The upper one contains kernel tables. Without KASLR
    // the kernel isn't in the lower one, so a page of 1 GiB fits there.
    guest.boot_with("nokaslr");
    let results = run_and_check_shares(
        &guest,
        &[
            ("hugeadm --pool-spread 2MB@0*3,1:40", &[(0, 30), (1, 10)]),
            ("hugeadm --pool-spread DEFAULT:25", &[(0, 13), (1, 12)]),
            (
                "hugeadm --pool-pages-min 2MB@0:17 --pool-pages-min 2MB@1:5",
                &[(0, 17), (1, 5)],
            ),
            (
                "hugeadm --pool-pages-min 2MB@1:+6 --pool-pages-max 2MB:50",
                &[(0, 17), (1, 11)],
            ),
            // The remaining page goes to the lowest node.
            ("hugeadm --pool-spread 2MB@1*99,0:3", &[(0, 1), (1, 2)]),
            // Only --obey-mempolicy respects the memory policy.
            ("hugeadm --pool-pages-min 2MB:0", &[]),
            (
                "on_node 1 hugeadm --obey-mempolicy --pool-pages-min 2MB:8",
                &[(1, 8)],
            ),
            (
                "on_node 1 hugeadm --pool-pages-min 2MB:16",
                &[(0, 4), (1, 12)],
            ),
        ],
        &[
            "hugeadm --pool-pages-min 2MB:0 --pool-pages-min 1GB@1:1",
            SHOW,
            // The first node cannot provide its share.
            "hugeadm --pool-pages-min 1GB:0 --pool-pages-max 2MB:0",
            "hugeadm --force --pool-spread 2MB@0*58,1*5:252",
            SHOW,
            "hugeadm --pool-list",
            "hugeadm --force --hard --add-temp-swap=0 --pool-pages-min 2MB@0:232",
            SHOW,
            "hugeadm --pool-pages-min 2MB:0 --pool-pages-max 2MB:0; insmod /brd.ko rd_size=1024 rd_nr=4",
            "hugeadm -v --add-ramdisk-swap --pool-pages-min DEFAULT:20",
            "tail -n +2 /proc/swaps",
            "echo data > /dev/ram1; hugeadm -v --add-ramdisk-swap --persist --pool-pages-min DEFAULT:30",
            "tail -n +2 /proc/swaps",
            "mount -o remount,ro /run; hugeadm --pool-pages-min 2MB:9 --pool-pages-max 2MB:20",
            "mount -o remount,ro /sys; hugeadm --pool-pages-min 1GB:1 --thp-madvise",
        ],
    );
    assert_eq!(shares(&results[1], 1 << 30), BTreeMap::from([(1, 1)]));
    check_shortfall(&results[3..8]);
    check_ram_disk_swap(&results[8..13]);
    assert_eq!((results[13].status, results[13].err.as_str()), (0, ""));
    assert_eq!(results[14].status, 1);
    let errors = results[14].err.matches("(EROFS)");
    assert_eq!(errors.count(), 2, "{:?}", results[14]);
}

/// Checks that the first node falls short with and without `--hard`.
fn check_shortfall(results: &[Ran]) {
    let short = &results[0];
    let had = shares(&results[1], MIB2);
    assert_eq!((short.status, had.get(&1)), (3, Some(&20)), "{short:?}");
    assert!((1..232).contains(&had[&0]), "{had:?}");
    let path = "/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages";
    let message = format!("hugeadm: warning: {path}: asked 232, got {}\n", had[&0]);
    assert!(short.err.starts_with(&message), "{short:?}");
    // The kernel may still allocate the missing pages on demand.
    let row = ((20 + had[&0]).to_string(), "252".to_owned());
    assert_eq!(default_row(&results[2]), row);
    let hard = &results[3];
    let message = format!("asked 232, got {}\n", shares(&results[4], MIB2)[&0]);
    assert!(hard.status == 3 && hard.err.contains(&message), "{hard:?}");
}

fn check_ram_disk_swap(results: &[Ran]) {
    assert_eq!(results[0].status, 0, "{:?}", results[0]);
    for disk in ["ram0", "ram1", "ram2"] {
        for done in ["used as swap", "removed from swap"] {
            let message = format!("/dev/{disk}: {done}\n");
            assert!(
                results[1].err.contains(&message),
                "{message} {:?}",
                results[1]
            );
        }
    }
    assert_eq!((results[1].status, results[2].out.as_str()), (0, ""));
    // A disk with data is left alone; the others are used.
    assert_eq!(results[3].status, 1, "{:?}", results[3]);
    let message = "cannot use /dev/ram1 as swap: the disk holds data\n";
    assert!(results[3].err.contains(message), "{:?}", results[3]);
    let swaps = results[4].out.lines();
    let used: Vec<&str> = swaps
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(used, ["/dev/ram0", "/dev/ram2"]);
}

const SPREAD: &str = "
[[pool]]
size = \"2MB\"
spread = 36
weights = {0 = 1, 2 = 1, 3 = 1, 4 = 1, 5 = 1, 6 = 1, 7 = 3}
";

#[test]
fn eight_nodes_with_and_without_memory_or_processors() {
    let mut nodes = [node(192, false); 8];
    nodes[0].cpu = true;
    nodes[1] = node(0, true);
    let Some(mut guest) = guest("eight nodes", &nodes) else {
        return;
    };
    guest.text("/etc/hugetools/hugetools.toml", SPREAD);
    let results = run_and_check_shares(
        &guest,
        &[
            (
                "hugeadm --pool-spread 2MB:40",
                &[(0, 6), (2, 6), (3, 6), (4, 6), (5, 6), (6, 5), (7, 5)],
            ),
            (
                "hugeadm --pool-spread 2MB@0*8,2*4,3-4*2,7:34",
                &[(0, 16), (2, 8), (3, 4), (4, 4), (5, 6), (6, 5), (7, 2)],
            ),
            (
                "hugeadm --pool-pages-min 2MB@0-7:0 --pool-pages-min 2MB@2,5:9",
                &[(2, 9), (5, 9)],
            ),
            ("hugeadm --pool-pages-min DEFAULT:0", &[]),
        ],
        &[
            "hugeadm --pool-pages-min 2MB@1,3:7",
            SHOW,
            "hugeadm --apply",
            SHOW,
            "hugeadm --check",
        ],
    );
    assert_eq!(results[0].status, 2, "{:?}", results[0]);
    let message = "node 1 has no memory of its own";
    assert!(results[0].err.contains(message), "{:?}", results[0]);
    assert_eq!(shares(&results[1], MIB2), BTreeMap::new());
    let spread = [0, 2, 3, 4, 5, 6].map(|node| (node, 4));
    let spread = spread.into_iter().chain([(7, 12)]).collect();
    assert_eq!(shares(&results[3], MIB2), spread, "{results:#?}");
    assert_eq!(results[4].out, "", "no difference: {results:#?}");
    assert!(
        results[2..].iter().all(|ran| ran.status == 0),
        "{results:#?}"
    );
}
