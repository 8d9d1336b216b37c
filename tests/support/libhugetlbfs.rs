//! Debian's hugeadm of libhugetlbfs 2.23, for comparison. It may write to the kernel even in a dry
//! run, so it runs only on copies: in a mount namespace or a virtual machine.

use std::path::Path;
use std::process::Command;

use super::live::skip;
use super::tool::Ran;

/// Its path in Debian.
pub(crate) const HUGEADM: &str = "/usr/bin/hugeadm";

/// Whether it is installed and we are root; otherwise reports a skipped test.
pub(crate) fn is_here(test: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    let output = query
        .args(["-W", "-f", "${Version}", "libhugetlbfs-bin"])
        .output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = version.unwrap_or_default();
    if !version.starts_with("2.23") || !Path::new(HUGEADM).exists() {
        let _: Option<()> = skip(
            test,
            &format!("libhugetlbfs-bin 2.23 is not installed, but {version:?}"),
        );
        return false;
    }
    if !nix::unistd::geteuid().is_root() {
        let _: Option<()> = skip(test, "a mount namespace needs root");
        return false;
    }
    true
}

/// Runs a program in a mount namespace: recorded `/proc` and `/sys`, empty `/var/lib`.
pub(crate) fn inside(tree: &Path, program: &Path, args: &[&str]) -> Ran {
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private", "sh", "-c"]);
    command.arg(
        "tree=$1; shift
         mount -t tmpfs tmpfs /var/lib && mount --bind $tree/sys /sys &&
         mount --bind $tree/proc /proc && exec \"$@\"",
    );
    command.arg("sh").arg(tree).arg(program).args(args);
    command
        .env_clear()
        .env("LC_ALL", "C")
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin");
    command.output().unwrap().into()
}
