//! Debian's hugeadm of libhugetlbfs 2.23, for comparison. It may write to the kernel even in a dry
//! run, so it runs only on copies: in a mount namespace or a virtual machine.

use std::path::Path;
use std::process::Command;

use super::live::skip;
use super::needs;
use super::tool::{Ran, Run};

/// Its path in Debian.
pub(crate) const HUGEADM: &str = "/usr/bin/hugeadm";

/// Whether version 2.23 of its package is installed; otherwise reports a skipped test.
pub(crate) fn is_installed(test: &str, package: &str) -> bool {
    let mut query = Command::new("dpkg-query");
    let output = query.args(["-W", "-f", "${Version}", package]).output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let version = version.unwrap_or_default();
    let why = || format!("{package} 2.23 is not installed, but {version:?}");
    version.starts_with("2.23") || skip::<()>(test, &why()).is_some()
}

/// Whether its hugeadm is installed and we are root; otherwise reports a skipped test.
pub(crate) fn can_run_hugeadm(test: &str) -> bool {
    is_installed(test, "libhugetlbfs-bin") && needs::root(test)
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
    command.ran()
}
