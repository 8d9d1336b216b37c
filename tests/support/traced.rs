//! Runs strace(1) and lists the calls that changed the machine, files or the page cache.
#![expect(clippy::disallowed_methods, reason = "reads traces of strace")]

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;

/// Calls that can change the machine, files or the page cache; `execve` proves that strace worked.
const TRACED_CALLS: &str = "trace=execve,open,openat,creat,mkdir,mkdirat,mknod,mknodat,rename,renameat,renameat2,\
    unlink,unlinkat,rmdir,link,linkat,symlink,symlinkat,truncate,ftruncate,fallocate,chmod,fchmod,\
    fchmodat,chown,lchown,fchown,fchownat,fadvise64,mount,umount2,swapon,swapoff,setxattr,utimensat";

/// Returns an strace command that logs the calls of a program and its children to `trace`.
pub(crate) fn strace(trace: &Path) -> Command {
    let mut command = Command::new("strace");
    let file = [OsStr::new("-o"), trace.as_os_str()];
    command.args(["-f", "-qq", "-e", TRACED_CALLS, "-e", "signal=none"]);
    command.args(file);
    command
}

/// Returns the command of [`strace`], quoted for a shell.
pub(crate) fn strace_words(trace: &Path) -> String {
    let command = strace(trace);
    let words = command.get_args().map(|word| word.to_str().unwrap());
    format!("strace '{}'", words.collect::<Vec<_>>().join("' '"))
}

/// Returns the lines of a trace that changed the machine or dropped page cache.
pub(crate) fn changes(trace: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(trace).unwrap();
    assert!(text.contains("execve"), "nothing was traced: {text}");
    let lines = text.lines().filter(|line| does_change(line));
    lines.map(str::to_owned).collect()
}

fn does_change(line: &str) -> bool {
    let call = line
        .split_once(' ')
        .map_or(line, |(_, call)| call.trim_start());
    let has_failed = call.contains(" = -1 ");
    let is_open = call.starts_with("open");
    let may_write = ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_TMPFILE"];
    let is_device = call.contains("\"/dev/null\"") || call.contains("\"/dev/tty\"");
    match is_open {
        true => !has_failed && !is_device && may_write.iter().any(|flag| call.contains(flag)),
        false if call.starts_with("execve") => false,
        false if call.starts_with("fadvise64") => call.contains("POSIX_FADV_DONTNEED"),
        false => !has_failed && call.contains('('),
    }
}

#[test]
fn changes_are_distinguished_from_reads() {
    for (line, expected) in [
        (
            "7 openat(AT_FDCWD, \"/etc/x\", O_RDONLY|O_CLOEXEC) = 3",
            false,
        ),
        (
            "7 openat(AT_FDCWD, \"/etc/x\", O_WRONLY|O_CREAT|O_CLOEXEC, 0666) = 3",
            true,
        ),
        (
            "7 openat(AT_FDCWD, \"/etc/x\", O_WRONLY|O_CLOEXEC) = -1 EACCES (Permission denied)",
            false,
        ),
        ("7 openat(AT_FDCWD, \"/dev/null\", O_RDWR) = 3", false),
        ("7 mkdir(\"/run/x\", 0700) = 0", true),
        ("7 mkdir(\"/run/x\", 0700) = -1 EEXIST (File exists)", false),
        ("7 fadvise64(3, 0, 4096, POSIX_FADV_DONTNEED) = 0", true),
        ("7 fadvise64(3, 0, 0, POSIX_FADV_SEQUENTIAL) = 0", false),
        ("7 +++ exited with 0 +++", false),
    ] {
        assert_eq!(does_change(line), expected, "{line}");
    }
}
