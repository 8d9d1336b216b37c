//! The Ansible role on this machine, with an overlay on `/etc` and hugeadm on a recorded tree; and
//! the Kubernetes manifest, checked against its schema.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::machine;
use crate::support::bless::project;
use crate::support::needs;
use crate::support::tool::Ran;
use crate::support::tree;

/// Runs a playbook in check mode and twice for real, then again after a manual change. POOL is a
/// file of the tree.
const PLAY: &str = "
mount -t overlay overlay -o lowerdir=/etc,upperdir=$PWD/up,workdir=$PWD/work /etc
play() { ansible-playbook -i localhost, -c local -e 'ansible_python_interpreter={{ ansible_playbook_python }}' \"$@\" play.yml; }
play --check --diff
cat $POOL
play
cat $POOL
play
play --check
echo 9 >$POOL
play --check
cat $POOL
play
cat $POOL
";

const PLAYBOOK: &str = "
- hosts: all
  gather_facts: false
  roles: [hugetools]
  vars:
    hugetools_config: |
      [[pool]]
      size = \"2MB\"
      min = 80
";

#[test]
fn the_role_is_idempotent_and_has_a_check_mode() {
    let test = "the role of Ansible";
    if !needs::programs(test, &["ansible-playbook"]) || !needs::mounts(test) {
        return;
    }
    let tree = machine(&["lib/systemd/systemd"]);
    // The upper directory of an overlay cannot be on an overlay.
    let place = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = |name: &str| place.path().join(name);
    for dir in ["up", "work", "bin"] {
        fs::create_dir(path(dir)).unwrap();
    }
    fs::write(path("play.yml"), PLAYBOOK).unwrap();
    let hugeadm = env!("CARGO_BIN_EXE_hugeadm");
    let wrapper = format!(
        "#!/bin/sh\nexec {hugeadm} --sysroot {} \"$@\"\n",
        tree.path().display()
    );
    fs::write(path("bin/hugeadm"), wrapper).unwrap();
    fs::set_permissions(path("bin/hugeadm"), fs::Permissions::from_mode(0o755)).unwrap();
    let pool = "proc/sys/vm/nr_hugepages";
    let (_, search) = std::env::vars_os()
        .find(|(name, _)| name == "PATH")
        .unwrap();
    let search = format!("{}:{}", path("bin").display(), search.to_string_lossy());
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", PLAY]);
    command.current_dir(place.path()).env("PATH", search);
    command.env("POOL", tree.path().join(pool));
    command.env("ANSIBLE_ROLES_PATH", project("crates/admin/share/ansible"));
    command
        .env("ANSIBLE_NOCOLOR", "1")
        .env("HOME", place.path());
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("+min = 80"), "no diff: {}", ran.out);
    // The pool's size, and the number of tasks that changed or would change something.
    let lines = ran.out.lines().filter_map(|line| {
        let recap = line
            .split("changed=")
            .nth(1)
            .and_then(|rest| rest.split(' ').next());
        let number = line.parse::<u64>().ok().map(|_| line);
        recap
            .map(|changed| format!("{changed} changed"))
            .or(number.map(str::to_owned))
    });
    let expected = [
        "3 changed",
        "0",
        "4 changed",
        "80",
        "0 changed",
        "0 changed",
        "1 changed",
        "9",
        "1 changed",
        "80",
    ];
    assert_eq!(lines.collect::<Vec<_>>(), expected, "{}", ran.out);
    assert!(tree::text(&tree.path().join(super::UNIT)).contains("--apply"));
}

#[test]
fn the_manifest_has_the_schema_of_kubernetes() {
    if !needs::programs("the manifest of Kubernetes", &["kubernetes-validate"]) {
        return;
    }
    let mut command = Command::new("kubernetes-validate");
    command.args(["--strict", "--quiet"]);
    let manifest = project("crates/admin/share/kubernetes/hugetools.yaml");
    let ran: Ran = command.arg(manifest).output().unwrap().into();
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
}
