//! A core dump has of memory on pages of a pool what it has without.
#![expect(clippy::disallowed_methods, reason = "reads cores")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::live::{machine, skip_aloud};
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

const KINDS: [&str; 3] = ["mapped", "segment", "block"];
/// Of each kind.
const PAGES: usize = 1024;

/// Runs a command with cores, in a folder of its own; what it printed, and the pages
/// that its core has, of each kind.
fn dump(command: &Command) -> (Ran, Vec<usize>) {
    let dir = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c unlimited; \"$@\" || :", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    let ran: Ran = shell.current_dir(dir.path()).output().unwrap().into();
    let mut files = fs::read_dir(dir.path()).unwrap();
    let core = files.next().map(|file| fs::read(file.unwrap().path()));
    let core = core.unwrap_or_else(|| panic!("no core: {ran:?}")).unwrap();
    (ran, KINDS.map(|kind| named(&core, kind)).to_vec())
}

/// How many pages of a kind are in a core.
fn named(core: &[u8], kind: &str) -> usize {
    let begin = format!("<{kind} page ");
    let pages = core.chunks_exact(4096).filter_map(|page| {
        let name = page.strip_prefix(begin.as_bytes())?;
        let end = name.iter().position(|byte| *byte == b'>')?;
        std::str::from_utf8(&name[..end])
            .ok()?
            .parse::<usize>()
            .ok()
    });
    pages.collect::<BTreeSet<_>>().len()
}

#[test]
fn shared_memory_on_a_pool_is_in_it() {
    let Some(live) = machine("core dumps with a pool") else {
        return;
    };
    let Some(program) = build("dumped", Libc::Glibc, &[]) else {
        return;
    };
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if pattern.starts_with(['|', '/', '@']) {
        return skip_aloud("core dumps with a pool", "cores go elsewhere");
    }
    live.set_pool(20);
    let all = vec![PAGES; KINDS.len()];
    let (_, plain) = dump(&Command::new(&program));
    assert_eq!(plain, all);
    let mut command = tool("hugectl");
    command.args(["--shm", "--heap", "--require=shm,heap"]);
    let (ran, under) = dump(command.arg(program));
    assert_eq!(under, all, "{ran:?}");
}

/// Who wants no shared memory in cores has none, and a dry run prints what is done.
#[test]
fn it_has_what_it_had() {
    let Some(live) = machine("core dumps as the caller wants them") else {
        return;
    };
    live.set_pool(20);
    let run = |filter: &str, options: &str| -> Ran {
        let hugectl = tool("hugectl");
        let hugectl = Path::new(hugectl.get_program()).display().to_string();
        let line = format!(
            "echo {filter} >/proc/self/coredump_filter && \
             exec {hugectl} {options} cat /proc/self/coredump_filter"
        );
        let ran: Ran = Command::new("sh")
            .arg("-c")
            .arg(line)
            .output()
            .unwrap()
            .into();
        assert_eq!(ran.status, 0, "{ran:?}");
        ran
    };
    assert_eq!(run("0x33", "--shm").out, "00000073\n");
    assert_eq!(run("0x31", "--shm").out, "00000031\n");
    assert_eq!(run("0x33", "--shm=thp").out, "00000033\n");
    assert_eq!(run("0x33", "--heap").out, "00000033\n");
    assert_eq!(run("0x11", "--heap").out, "00000031\n");
    let printed = run("0x33", "--shm --dry-run").out;
    let lines: Vec<_> = printed.lines().rev().take(2).collect();
    assert_eq!(
        lines[1], "echo 0x73 >/proc/self/coredump_filter",
        "{printed}"
    );
}
