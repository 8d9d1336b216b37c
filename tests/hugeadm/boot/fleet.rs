//! Runs the Ansible role on this machine, but with an overlay over `/etc` and with hugeadm on a
//! recorded machine. Checks the Kubernetes manifest against its schema.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use super::machine;
use crate::support::bless::project;
use crate::support::needs;
use crate::support::tool::Run;
use crate::support::tree;

/// Runs a playbook in check mode, twice for real and in check mode again; after a manual change of
/// the pool, in check mode and for real. `POOL` is the recorded machine's `nr_hugepages`.
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
fn the_ansible_role_is_idempotent_and_supports_check_mode() {
    let test = "the Ansible role";
    if !needs::programs(test, &["ansible-playbook"]) || !needs::mounts(test) {
        return;
    }
    let tree = machine(&["lib/systemd/systemd"]);
    // An overlay's upper directory cannot be on another overlay, as `/tmp` is in many containers.
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let path = |name: &str| dir.path().join(name);
    for name in ["up", "work", "bin"] {
        fs::create_dir(path(name)).unwrap();
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
    let (_, inherited) = std::env::vars_os()
        .find(|(name, _)| name == "PATH")
        .unwrap();
    let search_path = format!("{}:{}", path("bin").display(), inherited.to_string_lossy());
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-ec", PLAY]);
    command.current_dir(dir.path()).env("PATH", search_path);
    command.env("POOL", tree.path().join(pool));
    command.env("ANSIBLE_ROLES_PATH", project("crates/admin/share/ansible"));
    command.env("ANSIBLE_NOCOLOR", "1").env("HOME", dir.path());
    // Ansible refuses to run without UTF-8.
    command.env("LC_ALL", "C.UTF-8");
    let ran = command.ran();
    assert_eq!(ran.status, 0, "{}\n{}", ran.out, ran.err);
    assert!(ran.out.contains("+min = 80"), "no diff: {}", ran.out);
    // Pool sizes, and numbers of tasks with changes (in check mode: with changes to make).
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
fn the_kubernetes_manifest_matches_its_schema() {
    if !needs::programs("the Kubernetes manifest", &["kubernetes-validate"]) {
        return;
    }
    let mut command = Command::new("kubernetes-validate");
    command.args(["--strict", "--quiet"]);
    let manifest = project("crates/admin/share/kubernetes/hugetools.yaml");
    let ran = command.arg(manifest).ran();
    assert_eq!(ran.status, 0, "{}{}", ran.out, ran.err);
}
