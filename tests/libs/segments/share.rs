//! One copy of the text for all processes.
#![expect(
    clippy::disallowed_methods,
    reason = "prepares and looks at what lies on a hugetlbfs"
)]

use std::fs::{self, File, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::{Flock, FlockArg};

use crate::libs::judge::parts::Part;
use crate::support::live::{Live, machine};
use crate::support::needs::others;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, copy, tool};

const FLAGS: [&str; 3] = ["-DN=1000000", "-fno-pie", "-no-pie"];

/// A place with a program, and a mount for its copy.
struct Place {
    live: Live,
    dir: tempfile::TempDir,
    shelf: PathBuf,
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
            shelf: Path::new(&mount).join("elflink-uid-0"),
        })
    }

    /// Puts a program of that name there.
    fn program(&self, name: &str, flags: &[&str]) -> Option<PathBuf> {
        let path = self.dir.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        copy(build("stream", Libc::Glibc, flags)?, &path);
        Some(path)
    }

    /// The copies that there are.
    fn copies(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(&self.shelf).into_iter().flatten();
        let mut all: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        all.sort();
        all
    }
}

fn run(program: &Path) -> Ran {
    let mut command = tool("hugectl");
    command.args(["--text=2MB", "--share-text"]).arg(program);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!(ran.status, 0, "{ran:?}");
    ran
}

fn result(out: &str) -> String {
    let line = out.lines().find(|line| line.starts_with("result"));
    line.unwrap().to_owned()
}

/// Starts a program that stays, and waits until it has printed its segments.
fn start(program: &Path) -> Child {
    let mut command = tool("hugectl");
    command
        .args(["--text=2MB", "--share-text", "-q"])
        .arg(program)
        .arg("stay");
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.as_mut().unwrap()).lines();
    let bss = lines
        .map(Result::unwrap)
        .find(|line| line.starts_with("bss"));
    assert!(bss.is_some(), "{program:?} has ended");
    child
}

/// The inodes of the copies that a process maps.
fn inodes(child: &Child, shelf: &Path) -> Vec<String> {
    let maps = fs::read_to_string(format!("/proc/{}/maps", child.id())).unwrap();
    let ours = maps
        .lines()
        .filter(|line| line.contains(shelf.to_str().unwrap()));
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
    let mut both = [start(&program), start(&program)];
    let [one, other] = [0, 1].map(|at| inodes(&both[at], &place.shelf));
    assert!(!one.is_empty());
    assert_eq!(one, other);
    assert_eq!(place.copies().len(), 1);
    for child in &mut both {
        drop(child.stdin.take());
        assert!(child.wait().unwrap().success());
    }
    // The copy stays for the next one.
    let text = Part::find(&run(&program).out, "text");
    assert!(text.is_huge() && text.pool == text.whole, "{text:?}");
    assert_eq!(place.live.free_pages() + text.whole / 2048, 40);
    fs::remove_dir_all(&place.shelf).unwrap();
    assert_eq!(place.live.free_pages(), 40);
}

#[test]
fn nobody_gets_the_text_of_another_program() {
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
    // Rebuilt in place, then as a new file. The copy of old goes away.
    copy(&there, &here);
    assert_eq!(result(&run(&here).out), second);
    fs::remove_file(&there).unwrap();
    place.program("b/solver", &FLAGS).unwrap();
    assert_eq!(result(&run(&there).out), first);
    assert_eq!(place.copies().len(), 2);
    fs::remove_dir_all(&place.shelf).unwrap();
}

#[test]
fn one_that_was_killed_or_stopped_keeps_nobody() {
    let Some(place) = Place::new("a lock that stays") else {
        return;
    };
    let Some(program) = place.program("solver", &FLAGS) else {
        return;
    };
    let expected = result(&run(&program).out);
    let copy = place.copies().pop().unwrap();
    let unfinished = PathBuf::from(format!("{}.tmp", copy.display()));
    // Killed: a part of the file is there, and nobody holds the lock.
    fs::remove_file(&copy).unwrap();
    File::create(&unfinished).unwrap().set_len(2 << 20).unwrap();
    let ran = run(&program);
    assert!(!ran.err.contains("another process takes long"), "{ran:?}");
    assert_eq!(result(&ran.out), expected);
    assert_eq!(place.copies(), std::slice::from_ref(&copy));
    // Stopped: it holds the lock. Others wait a second, then go without.
    fs::remove_file(&copy).unwrap();
    let file = File::create(&unfinished).unwrap();
    let lock = Flock::lock(file, FlockArg::LockExclusive).unwrap();
    let begin = Instant::now();
    let ran = run(&program);
    assert!(
        begin.elapsed() < Duration::from_secs(10),
        "{:?}",
        begin.elapsed()
    );
    assert_eq!(result(&ran.out), expected);
    assert!(ran.err.contains("another process takes long"), "{ran:?}");
    assert!(Part::find(&ran.out, "text").is_huge(), "{ran:?}");
    drop(lock);
    fs::remove_dir_all(&place.shelf).unwrap();
}

/// Carried out as root, the command that is named mends it for the user who was told.
#[test]
fn the_mount_that_is_advised_is_one_for_the_user() {
    let Some(live) = machine("the text of an ordinary user") else {
        return;
    };
    live.set_pool(40);
    // Of a name without "=", which env(1) would take for a variable.
    let Some(program) = build("stream", Libc::Glibc, &FLAGS[1..]) else {
        return;
    };
    if !others("the text of an ordinary user", &program) {
        return;
    }
    let nobody = || -> Ran {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
        // Not for setpriv itself.
        let library = format!("LD_PRELOAD={}", env!("HUGETOOLS_PRELOAD"));
        command.args(["env", &library, "HUGETLB_ELFMAP=R=2M", "HUGETLB_SHARE=1"]);
        command.arg(&program).output().unwrap().into()
    };
    let ran = nobody();
    let told = "(to mount one: hugeadm --create-user-mounts 65534)";
    assert!(ran.status == 0 && ran.err.contains(told), "{ran:?}");
    let mend = live.hugeadm(&["--create-user-mounts", "65534"]);
    assert_eq!(mend.status, 0, "{mend:?}");
    let ran = nobody();
    let user = nix::unistd::User::from_uid(65534.into()).unwrap().unwrap();
    let shelf = format!(
        "/var/lib/hugetlbfs/user/{}/pagesize-{}/elflink-uid-65534",
        user.name,
        live.default_size()
    );
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    assert_eq!(fs::read_dir(&shelf).unwrap().count(), 1);
    fs::remove_dir_all(&shelf).unwrap();
}

#[test]
fn a_directory_that_others_can_write_to_is_refused() {
    let Some(place) = Place::new("a directory of others") else {
        return;
    };
    let Some(program) = place.program("solver", &FLAGS) else {
        return;
    };
    fs::create_dir(&place.shelf).unwrap();
    fs::set_permissions(&place.shelf, Permissions::from_mode(0o777)).unwrap();
    let ran = run(&program);
    assert!(ran.err.contains("can be written to by others"), "{ran:?}");
    assert!(Part::find(&ran.out, "text").is_huge(), "{ran:?}");
    assert!(place.copies().is_empty());
    fs::remove_dir_all(&place.shelf).unwrap();
    let mut command = tool("hugectl");
    command.env("HUGETLB_SHARE_PATH", place.dir.path());
    let ran: Ran = command
        .args(["--text=2MB", "--share-text"])
        .arg(&program)
        .output()
        .unwrap()
        .into();
    assert!(ran.err.contains("is not on a hugetlbfs"), "{ran:?}");
}

/// As V8 maps its built-in functions, and ends where it cannot.
#[test]
fn a_program_that_maps_its_own_code_gets_no_shared_text() {
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
