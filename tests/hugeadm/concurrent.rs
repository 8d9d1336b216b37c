//! Concurrent runs of hugeadm are serialized: no plan uses a state that another run is changing.

use std::fs::File;
use std::io::Read;
use std::process::Stdio;

use nix::fcntl::{Flock, FlockArg};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::tool::{hugeadm, tool};
use crate::support::tree;

fn pages(dir: &std::path::Path) -> String {
    let ran = hugeadm(dir, &["--pool-list"]);
    let row = ran.out.lines().find(|line| line.contains('*')).unwrap();
    row.split_whitespace().nth(1).unwrap().to_owned()
}

#[test]
fn concurrent_increments_add_up() {
    let dir = tree::machine("x86_64-8node");
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let ran = hugeadm(dir.path(), &["--pool-pages-min", "DEFAULT:+1"]);
                    assert_eq!(ran.status, 0, "{ran:?}");
                }
            });
        }
    });
    assert_eq!(pages(dir.path()), (74 + 30).to_string());
}

/// A waiting run says so, and a signal ends it without changes. Listings and dry runs don't wait.
#[test]
fn a_waiting_run_can_be_interrupted() {
    let dir = tree::machine("x86_64-8node");
    let tree = std::fs::OpenOptions::new()
        .read(true)
        .open(dir.path())
        .unwrap();
    let lock = Flock::lock(tree, FlockArg::LockExclusive)
        .map_err(|(_, errno)| errno)
        .unwrap();
    for args in [
        &["--pool-list"][..],
        &["-d", "--pool-pages-min", "DEFAULT:5"],
    ] {
        assert_eq!(hugeadm(dir.path(), args).status, 0);
    }
    let mut command = tool("hugeadm");
    command.arg("--sysroot").arg(dir.path());
    command
        .args(["--pool-pages-min", "DEFAULT:5"])
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut err = String::new();
    while !err.ends_with('\n') {
        let mut byte = [0];
        assert_eq!(
            child.stderr.as_mut().unwrap().read(&mut byte).unwrap(),
            1,
            "{err}"
        );
        err.push(char::from(byte[0]));
    }
    assert_eq!(err, "hugeadm: warning: waiting for another hugeadm\n");
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap());
    kill(pid, Signal::SIGTERM).unwrap();
    let status = child.wait().unwrap();
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&status),
        Some(libc::SIGTERM)
    );
    drop::<Flock<File>>(lock);
    assert_eq!(pages(dir.path()), "74");
}
