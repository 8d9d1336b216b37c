//! `--share-text`: processes share one copy of the text.
#![expect(
    clippy::disallowed_methods,
    reason = "reads and prepares files on a hugetlbfs"
)]

use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};

use crate::libs::smaps::segment_pages::SegmentPages;
use crate::support::live::{Live, machine};
use crate::support::program::{Libc, build};
use crate::support::running::Running;
use crate::support::tool::{Ran, Run, copy, tool};

const FLAGS: [&str; 3] = ["-DN=1000000", "-fno-pie", "-no-pie"];

/// A directory with programs, and a mount for their copies.
struct Place {
    live: Live,
    dir: tempfile::TempDir,
    copies_dir: PathBuf,
}

impl Place {
    fn new(test: &str) -> Option<Place> {
        let live = machine(test)?;
        live.set_pool(40);
        assert_eq!(live.hugeadm(&["--create-global-mounts"]).status, 0);
        let size = live.default_size();
        let mount = format!("/var/lib/hugetlbfs/global/pagesize-{size}");
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        Some(Place {
            live,
            dir,
            copies_dir: Path::new(&mount).join("elflink-uid-0"),
        })
    }

    /// Builds a program under this name.
    fn program(&self, name: &str, flags: &[&str]) -> Option<PathBuf> {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        copy(build("stream", Libc::Glibc, flags)?, &path);
        Some(path)
    }

    fn copies(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.copies_dir).into_iter().flatten();
        let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all
    }
}

fn run(program: &Path) -> Ran {
    let mut command = tool("hugectl");
    command.args(["--text=2MB", "--share-text"]).arg(program);
    let ran = command.ran();
    assert_eq!(ran.status, 0, "{ran:?}");
    ran
}

fn result(out: &str) -> String {
    let line = out.lines().find(|line| line.starts_with("result"));
    line.unwrap().to_owned()
}

/// Starts a program that waits for input after it has printed its segments.
fn start(program: &Path) -> Running {
    let mut command = tool("hugectl");
    command.args(["--text=2MB", "--share-text", "-q"]);
    let mut running = Running::start(command.arg(program).arg("stay"));
    running.skip_to("bss");
    running
}

/// Returns the inodes of the copies that a process maps.
fn inodes(running: &Running, copies_dir: &Path) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", running.id())).unwrap();
    let ours = maps
        .lines()
        .filter(|line| line.contains(copies_dir.to_str().unwrap()));
    let inode = |line: &str| line.split_whitespace().nth(4).unwrap().to_owned();
    ours.map(inode).collect()
}

#[test]
fn two_processes_share_one_copy() {
    let Some(place) = Place::new("shared text") else {
        return;
    };
    let Some(program) = place.program("solver", &FLAGS) else {
        return;
    };
    let both = [start(&program), start(&program)];
    let [one, other] = [0, 1].map(|at| inodes(&both[at], &place.copies_dir));
    assert!(!one.is_empty());
    assert_eq!(one, other);
    assert_eq!(place.copies().len(), 1);
    for running in both {
        assert_eq!(running.end().status, 0);
    }
    // The copy stays for the next process.
    let text = SegmentPages::find(&run(&program).out, "text");
    assert!(text.is_huge() && text.pool == text.whole, "{text:?}");
    assert_eq!(place.live.free_pages() + text.whole / 2048, 40);
    fs::remove_dir_all(&place.copies_dir).unwrap();
    assert_eq!(place.live.free_pages(), 40);
}

#[test]
fn programs_of_the_same_name_have_their_own_copies() {
    let Some(place) = Place::new("shared text of two programs") else {
        return;
    };
    let other = ["-DN=900000", "-fno-pie", "-no-pie"];
    let (Some(here), Some(there)) = (
        place.program("a/solver", &FLAGS),
        place.program("b/solver", &other),
    ) else {
        return;
    };
    let plain = |program: &Path| {
        let output = std::process::Command::new(program).output().unwrap();
        result(&String::from_utf8(output.stdout).unwrap())
    };
    let (first, second) = (plain(&here), plain(&there));
    assert_ne!(first, second);
    for _ in 0..2 {
        assert_eq!(result(&run(&here).out), first);
        assert_eq!(result(&run(&there).out), second);
    }
    assert_eq!(place.copies().len(), 2);
    // Rebuilt in place, then as a new file. The old copy is removed.
    copy(&there, &here);
    assert_eq!(result(&run(&here).out), second);
    fs::remove_file(&there).unwrap();
    place.program("b/solver", &FLAGS).unwrap();
    assert_eq!(result(&run(&there).out), first);
    assert_eq!(place.copies().len(), 2);
    fs::remove_dir_all(&place.copies_dir).unwrap();
}

#[test]
fn a_killed_or_stopped_process_blocks_no_other() {
    let Some(place) = Place::new("a lock that stays") else {
        return;
    };
    let Some(program) = place.program("solver", &FLAGS) else {
        return;
    };
    let expected = result(&run(&program).out);
    let copy = place.copies().pop().unwrap();
    let unfinished = PathBuf::from(format!("{}.tmp", copy.display()));
    // Killed: part of the file exists, and the lock is free.
    fs::remove_file(&copy).unwrap();
    File::create(&unfinished).unwrap().set_len(2 << 20).unwrap();
    let ran = run(&program);
    assert!(
        !ran.err.contains("another process is still making"),
        "{ran:?}"
    );
    assert_eq!(result(&ran.out), expected);
    assert_eq!(place.copies(), std::slice::from_ref(&copy));
    // Stopped: the lock is held. Others wait a second, then go on without the copy.
    fs::remove_file(&copy).unwrap();
    let file = File::create(&unfinished).unwrap();
    let lock = Flock::lock(file, FlockArg::LockExclusive).unwrap();
    let ran = run(&program);
    assert_eq!(result(&ran.out), expected);
    assert!(
        ran.err.contains("another process is still making"),
        "{ran:?}"
    );
    assert!(SegmentPages::find(&ran.out, "text").is_huge(), "{ran:?}");
    drop(lock);
    fs::remove_dir_all(&place.copies_dir).unwrap();
}

#[test]
fn a_directory_writable_by_others_is_rejected() {
    let Some(place) = Place::new("a directory of others") else {
        return;
    };
    let Some(program) = place.program("solver", &FLAGS) else {
        return;
    };
    fs::create_dir(&place.copies_dir).unwrap();
    fs::set_permissions(&place.copies_dir, Permissions::from_mode(0o777)).unwrap();
    let ran = run(&program);
    assert!(ran.err.contains("can be written to by others"), "{ran:?}");
    assert!(SegmentPages::find(&ran.out, "text").is_huge(), "{ran:?}");
    assert!(place.copies().is_empty());
    fs::remove_dir_all(&place.copies_dir).unwrap();
    let mut command = tool("hugectl");
    command.env("HUGETLB_SHARE_PATH", place.dir.path());
    let ran = command
        .args(["--text=2MB", "--share-text"])
        .arg(&program)
        .ran();
    assert!(ran.err.contains("is not on a hugetlbfs"), "{ran:?}");
}

/// V8 maps its built-in functions again and aborts if that fails.
#[test]
fn a_program_that_maps_its_own_text_keeps_its_file() {
    let Some(place) = Place::new("shared text that is mapped again") else {
        return;
    };
    let flags = ["-fno-pie", "-no-pie", "-rdynamic"];
    let Some(program) = build("own_code", Libc::Glibc, &flags) else {
        return;
    };
    let ran = run(&program);
    assert_eq!(place.copies().len(), 0, "{ran:?}");
    assert_eq!(ran.out, "42\n", "{ran:?}");
}
