//! A core dump contains memory on the pool, as without us.
#![expect(clippy::disallowed_methods, reason = "reads cores")]

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use crate::support::live::{machine, skip_aloud};
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, tool};

const KINDS: [&str; 3] = ["mapped", "segment", "block"];
/// Pages of each kind.
const PAGES: usize = 1024;

/// Runs a command in a directory of its own. Returns its output and the number of pages of
/// each kind in its core.
fn dump(command: &Command) -> (Ran, Vec<usize>) {
    let dir = tempfile::tempdir().unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -c unlimited; \"$@\" || :", "sh"]);
    shell.arg(command.get_program()).args(command.get_args());
    let ran: Ran = shell.current_dir(dir.path()).output().unwrap().into();
    let mut files = fs::read_dir(dir.path()).unwrap();
    let core = files.next().map(|file| fs::read(file.unwrap().path()));
    let core = core.unwrap_or_else(|| panic!("no core: {ran:?}")).unwrap();
    (ran, KINDS.map(|kind| count(&core, kind)).to_vec())
}

/// Returns the number of pages of a kind in a core.
fn count(core: &[u8], kind: &str) -> usize {
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
fn a_core_contains_memory_on_the_pool() {
    let Some(live) = machine("core dumps with a pool") else {
        return;
    };
    let Some(program) = build("dump_core", Libc::Glibc, &[]) else {
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

/// hugectl adds hugetlb pages to the kinds of memory in a core, but only to those that the
/// caller wants.
#[test]
fn the_filter_of_cores_is_extended() {
    let Some(live) = machine("core dumps as the caller wants them") else {
        return;
    };
    live.set_pool(20);
    let hugectl = tool("hugectl").get_program().to_str().unwrap().to_owned();
    for (filter, option, wanted) in [
        ("0x33", "--shm", "00000073"),
        ("0x31", "--shm", "00000031"),
        ("0x33", "--shm=thp", "00000033"),
        ("0x11", "--heap", "00000031"),
    ] {
        let file = "/proc/self/coredump_filter";
        let line = format!("echo {filter} >{file} && exec {hugectl} {option} cat {file}");
        let ran: Ran = (Command::new("sh").arg("-c").arg(line).output())
            .unwrap()
            .into();
        assert_eq!((ran.status, ran.out.trim()), (0, wanted), "{ran:?}");
    }
}
