//! The file at boot, in virtual machines: exact on each node before a dependent service
//! starts, or a failed unit with the figure in its log.

use crate::support::guest::{Guest, GuestNode, guest};
use crate::support::tool::Ran;

const NODE: GuestNode = GuestNode {
    megabytes: 512,
    cpu: true,
};

/// Puts /bin/hugeadm and this file into systemd's hands.
fn by_systemd(test: &str, nodes: &[GuestNode], file: &str) -> Option<Guest> {
    let mut guest = guest(test, nodes)?;
    guest.text("/etc/hugetools/hugetools.toml", file);
    guest.boot_by_systemd(test, "hugeadm --install-boot")?;
    Some(guest)
}

#[test]
fn two_nodes() {
    let Some(guest) = by_systemd("two nodes", &[NODE; 2], "") else {
        return;
    };
    let answers: Vec<Ran> = guest.run(&[
        "hugeadm --pool-list-nodes",
        "systemctl is-enabled hugetools",
        "systemctl status hugetools",
        "journalctl -u hugetools",
    ]);
    panic!("{answers:#?}");
}
