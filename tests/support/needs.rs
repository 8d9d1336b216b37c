//! Checks for programs, libraries, mounts and rights that a machine may lack.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::live::skip;

/// Finds a program in the path, including root's directories.
fn find(name: &str) -> Option<PathBuf> {
    let (_, path) = std::env::vars_os().find(|(name, _)| name == "PATH")?;
    let more = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let dirs = std::env::split_paths(&path).chain(more);
    dirs.map(|dir| dir.join(name)).find(|file| file.exists())
}

/// Whether all these programs are installed; otherwise reports a skipped test.
pub(crate) fn programs(test: &str, names: &[&str]) -> bool {
    let lacks = |name: &&&str| find(name).is_none();
    match names.iter().find(lacks) {
        None => true,
        Some(name) => skip::<()>(test, &format!("there is no {name}")).is_some(),
    }
}

/// Whether root runs the test, so that it can act as any user; otherwise reports a skipped test.
pub(crate) fn root(test: &str) -> bool {
    nix::unistd::geteuid().is_root() || skip::<()>(test, "it needs root").is_some()
}

/// Whether pseudo-terminals exist. A chroot without `/dev/pts` has none.
pub(crate) fn terminal(test: &str) -> bool {
    let opened = OpenOptions::new().read(true).write(true).open("/dev/ptmx");
    match opened {
        Ok(_) => programs(test, &["script"]),
        Err(error) => skip::<()>(test, &format!("no terminal: /dev/ptmx: {error}")).is_some(),
    }
}

/// Whether a test can create mounts. It needs root. It fails in most containers, and in a chroot
/// whose `/` is not a mount point.
pub(crate) fn mounts(test: &str) -> bool {
    let output = Command::new("unshare").args(["--mount", "true"]).output();
    let why = match output {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).into_owned(),
        Err(error) => format!("unshare: {error}"),
    };
    skip::<()>(test, why.trim_end()).is_some()
}

/// Whether loopback connections work. A network namespace may have its loopback down.
pub(crate) fn loopback(test: &str) -> bool {
    match connection() {
        Ok(()) => true,
        Err(error) => skip::<()>(test, &format!("no loopback: {error}")).is_some(),
    }
}

fn connection() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    TcpStream::connect(listener.local_addr()?).map(drop)
}

/// Whether control groups are visible, or the kernel has none. Most chroots hide them; then the
/// machine's free memory limits transparent huge pages.
pub(crate) fn control_groups(test: &str) -> bool {
    let roots =
        ["", "unified/", "memory/"].map(|root| format!("/sys/fs/cgroup/{root}cgroup.procs"));
    let seen = !Path::new("/proc/self/cgroup").exists()
        || roots.iter().any(|root| Path::new(root).exists());
    seen || skip::<()>(test, "no control groups at /sys/fs/cgroup").is_some()
}

/// Whether other users can run a program. Its parent directories may be closed to them.
pub(crate) fn nobody_can_run(test: &str, program: &Path) -> bool {
    let mut command = Command::new("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    let status = command.args(["test", "-x"]).arg(program).status();
    let reach = status.is_ok_and(|status| status.success());
    reach || skip::<()>(test, "nobody cannot reach the programs").is_some()
}

/// Whether programs can be linked with these flags.
pub(crate) fn libraries(test: &str, flags: &[&str]) -> bool {
    let mut command = Command::new("cc");
    command
        .args(["-x", "c", "-", "-o", "/dev/null"])
        .args(flags);
    command.stdin(Stdio::piped()).stderr(Stdio::null());
    let linked = command.spawn().and_then(|mut child| {
        let source = child
            .stdin
            .take()
            .map(|mut to| to.write_all(b"int main(void) { return 0; }\n"));
        source.transpose()?;
        child.wait()
    });
    match linked {
        Ok(status) if status.success() => true,
        _ => skip::<()>(test, &format!("cc does not link with {}", flags.join(" "))).is_some(),
    }
}

/// Whether the linker of `-fuse-ld=NAME` is installed.
pub(crate) fn linker(test: &str, name: &str) -> bool {
    programs(test, &[&format!("ld.{name}")])
}
