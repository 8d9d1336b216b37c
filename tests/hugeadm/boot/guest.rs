//! The configuration file at boot, in virtual machines: it is applied on each node before a
//! dependent service starts, or the unit fails with the figure in its log.

use crate::support::guest::{GuestNode, guest};
use crate::support::tool::Ran;

const FILE: &str = "/etc/hugetools/hugetools.toml";

/// A file that can be applied in full.
const EXACT: &str = "
[[pool]]
size = \"2MB\"
nodes = {0 = 17, 1 = 5}

[[mount]]
for = \"global\"
";

/// The second node contains no aligned gigabyte.
const TOO_MUCH: &str = "
[[pool]]
size = \"1GB\"
nodes = {1 = 1}
";

const STATE: &str = "systemctl show -P ActiveState hugetools";
const LOG: &str = "journalctl --no-pager -o cat -u hugetools";

fn out(results: &[Ran]) -> Vec<&str> {
    results.iter().map(|ran| ran.out.trim_end()).collect()
}

#[test]
fn a_file_is_exact_before_a_service_starts_and_a_shortage_fails_the_unit() {
    let test = "a file under systemd";
    let nodes = [1280, 1536].map(|megabytes| GuestNode {
        megabytes,
        cpu: true,
    });
    let Some(mut guest) = guest(test, &nodes) else {
        return;
    };
    guest.text(FILE, EXACT);
    guest.text("/too-much", TOO_MUCH);
    if guest
        .boot_by_systemd(test, "hugeadm --install-boot")
        .is_none()
    {
        return;
    }
    let exact = [
        "cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages",
        STATE,
        "systemctl is-enabled hugetools",
        "grep -c ' /var/lib/hugetlbfs/global/pagesize-2MB hugetlbfs ' /proc/mounts",
        "hugeadm --check",
    ];
    // The console is a terminal, so hugeadm confirms changes. Only ends of outputs are compared.
    let uninstall =
        "hugeadm --uninstall-boot && hugeadm --uninstall-boot && ls /etc/systemd/system";
    let restart = format!("cat /too-much >{FILE}; systemctl restart hugetools");
    let relax = format!("echo 'essential = false' >>{FILE}; systemctl restart hugetools");
    let short = [&restart, STATE, LOG, &relax, STATE, LOG, uninstall];
    let results = guest.run(&[&exact[..], &short].concat());
    let ends = ["17\n5", "active", "enabled", "1", ""];
    for (answer, end) in out(&results).into_iter().zip(ends) {
        assert!(answer.ends_with(end), "{end}: {results:#?}");
    }
    assert_eq!(results[4].out, "", "no difference: {results:#?}");
    let short = out(&results[exact.len()..]);
    assert_eq!([short[1], short[4]], ["failed", "active"], "{results:#?}");
    let figures = |log: &str| log.matches("asked 1, got 0").count();
    assert_eq!(figures(short[2]), 1, "{results:#?}");
    assert_eq!(figures(short[5]), 2, "{results:#?}");
    assert!(short[6].ends_with("sysinit.target.wants"), "{results:#?}");
}
