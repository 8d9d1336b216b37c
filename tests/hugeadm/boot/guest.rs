//! The file at boot, in virtual machines: exact on each node before a dependent service
//! starts, or a failed unit with the figure in its log.

use crate::support::guest::{Guest, GuestNode, guest};
use crate::support::tool::Ran;

const NODE: GuestNode = GuestNode {
    megabytes: 512,
    cpu: true,
};

const FILE: &str = "/etc/hugetools/hugetools.toml";

/// Pages of each node that a dependent service finds, and the state of our unit.
const SHOW: &str = "cat /sys/devices/system/node/node*/hugepages/hugepages-2048kB/nr_hugepages";
const STATE: &str = "systemctl show -P ActiveState hugetools";
const LOG: &str = "journalctl --no-pager -o cat -u hugetools";

/// A machine whose systemd applies this file.
fn by_systemd(test: &str, nodes: &[GuestNode], file: &str) -> Option<Guest> {
    let mut guest = guest(test, nodes)?;
    guest.text(FILE, file);
    guest.boot_by_systemd(test, "hugeadm --install-boot")?;
    Some(guest)
}

fn out(answers: &[Ran]) -> Vec<&str> {
    answers.iter().map(|ran| ran.out.trim_end()).collect()
}

#[test]
fn a_file_is_exact_before_a_service_starts() {
    let file = "
[[pool]]
size = \"2MB\"
nodes = {0 = 17, 1 = 5}

[[mount]]
for = \"global\"
";
    let Some(guest) = by_systemd("a file under systemd", &[NODE; 2], file) else {
        return;
    };
    let answers = guest.run(&[
        SHOW,
        STATE,
        "systemctl is-enabled hugetools",
        "grep -c ' /var/lib/hugetlbfs/global/pagesize-2MB hugetlbfs ' /proc/mounts",
        "hugeadm --check",
        "hugeadm --uninstall-boot && hugeadm --uninstall-boot && ls /etc/systemd/system",
    ]);
    // The console is a terminal, where changes are confirmed.
    let ends = [
        "17\n5",
        "active",
        "enabled",
        "1",
        "",
        "sysinit.target.wants",
    ];
    for (answer, end) in out(&answers).into_iter().zip(ends) {
        assert!(answer.ends_with(end), "{end}: {answers:#?}");
    }
    assert_eq!(answers[4].out, "", "no difference: {answers:#?}");
}

/// The service starts nevertheless: it isn't one that requires our unit.
#[test]
fn a_shortage_fails_the_unit_unless_the_pool_is_not_essential() {
    // The second node begins and ends within a gigabyte, so it has no whole one.
    let nodes = [1280, 1536].map(|megabytes| GuestNode { megabytes, ..NODE });
    let file = "
[[pool]]
size = \"1GB\"
nodes = {1 = 1}
";
    let Some(guest) = by_systemd("a shortage under systemd", &nodes, file) else {
        return;
    };
    let relax = format!("echo 'essential = false' >>{FILE}; systemctl restart hugetools");
    let answers = guest.run(&[STATE, LOG, &relax, STATE, LOG]);
    let states = [answers[0].out.trim(), answers[3].out.trim()];
    assert_eq!(states, ["failed", "active"], "{answers:#?}");
    let figures = |log: &str| log.matches("asked 1, got 0").count();
    assert_eq!(figures(&answers[1].out), 1, "{answers:#?}");
    assert_eq!(figures(&answers[4].out), 2, "{answers:#?}");
}

/// There is no init system here: the guest's init calls the script, as rc would.
#[test]
fn a_script_spreads_a_pool_over_eight_nodes() {
    let nodes = [GuestNode {
        megabytes: 160,
        ..NODE
    }; 8];
    let Some(mut guest) = guest("a file under a script", &nodes) else {
        return;
    };
    let file = "
[[pool]]
size = \"2MB\"
spread = 40
weights = {0 = 1, 1 = 1, 2 = 1, 3 = 1, 4 = 1, 5 = 1, 6 = 1, 7 = 3}
";
    guest.text(FILE, file);
    let answers = guest.run(&[
        "mkdir -p /etc/init.d && hugeadm --install-boot 2>&1",
        "/etc/init.d/hugetools start",
        SHOW,
        "/etc/init.d/hugetools status",
        "hugeadm --uninstall-boot && ls /etc/init.d",
    ]);
    let answered = out(&answers);
    let note = "/etc/init.d/hugetools is not enabled here\n  in the running system: update-rc.d";
    assert!(answered[0].contains(note), "{answers:#?}");
    assert_eq!(answered[2], "4\n4\n4\n4\n4\n4\n4\n12", "{answers:#?}");
    assert_eq!(answered[3], "", "no difference: {answers:#?}");
    assert!(answers.iter().all(|ran| ran.status == 0), "{answers:#?}");
}
