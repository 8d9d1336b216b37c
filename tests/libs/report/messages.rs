//! `--messages`: what hugectl and the libraries say, kept off standard error.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::live::skip;
use crate::support::needs::others;
use crate::support::program::{Libc, build};
use crate::support::tool::{Ran, hugectl, tool};

/// A folder, and the file of the messages in it.
struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Place {
        Place(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("said")
    }

    fn said(&self) -> String {
        fs::read_to_string(self.file()).unwrap_or_default()
    }

    fn option(&self) -> String {
        format!("--messages={}", self.file().display())
    }

    /// Runs a program, of which each process with the library has a line to say.
    fn run(&self, options: &[&str], program: &[&str]) -> Ran {
        let mut command = tool("hugectl");
        command.env("PATH", "/usr/bin:/bin").env(ODD, "?");
        command.arg(self.option()).args(options).args(program);
        command.output().unwrap().into()
    }

    /// The processes that have said their line.
    fn speakers(&self) -> BTreeSet<u32> {
        let said = self.said();
        let mut found = BTreeSet::new();
        for line in said.lines().filter(|line| line.contains(ODD)) {
            let rest = line.strip_prefix("libhugetlbfs: WARNING: process ");
            let (pid, text) = rest.expect(line).split_once(": ").expect(line);
            assert!(text.starts_with("the value of"), "{line}");
            found.insert(pid.parse().unwrap());
        }
        found
    }
}

/// A variable whose value none understands.
const ODD: &str = "HUGETLB_MORECORE_SHRINK";

fn quiet(ran: &Ran) {
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn all_that_is_said_goes_to_the_file() {
    let place = Place::new();
    let script = "perl -e 0; sh -c 'perl -e 0; :'; exec perl -e 'fork; wait; exec \"true\"'";
    quiet(&place.run(&[], &["sh", "-c", script]));
    let said = place.said();
    // One line of hugectl, and one of each program that was executed.
    assert_eq!(
        said.matches("hugectl: WARNING: nothing was").count(),
        1,
        "{said}"
    );
    assert_eq!(said.matches(ODD).count(), 7, "{said}");
    assert_eq!(place.speakers().len(), 5, "{said}");
    // It is appended to.
    quiet(&place.run(&[], &["true"]));
    assert!(place.said().starts_with(&said));
    fs::remove_file(place.file()).unwrap();
    quiet(&place.run(&["-q"], &["sh", "-c", script]));
    assert_eq!(place.said(), "");
}

#[test]
fn a_machine_without_a_name_is_no_empty_one() {
    let test = "a machine without a name";
    if !nix::unistd::geteuid().is_root() {
        return skip(test, "it needs root").unwrap_or(());
    }
    let mut command = Command::new("unshare");
    let script = "echo > /proc/sys/kernel/hostname; exec \"$0\" --verbose=99 --heap perl -e 0";
    command.args(["--uts", "sh", "-c", script]).arg(hugectl());
    command.env(ODD, "?");
    let ran: Ran = command.output().unwrap().into();
    assert!(ran.err.contains("libhugetlbfs [?:"), "{ran:?}");
    assert!(!ran.err.contains("[:"), "{ran:?}");
}

#[test]
fn a_descriptor_serves_as_well() {
    let place = Place::new();
    let script = format!(
        "'{}' --messages=7 sh -c 'perl -e 0; :' 7>>'{}'",
        hugectl().display(),
        place.file().display()
    );
    let mut shell = Command::new("sh");
    let ran: Ran = shell
        .args(["-c", &script])
        .env(ODD, "?")
        .output()
        .unwrap()
        .into();
    quiet(&ran);
    assert_eq!(place.speakers().len(), 2, "{}", place.said());
    assert!(place.said().contains("hugectl: WARNING: nothing"));
}

#[test]
fn with_both_libraries_and_both_libcs() {
    for libc in Libc::ALL {
        let Some(program) = build("segment", libc, &[]) else {
            continue;
        };
        for option in ["--shm", "--heap=thp"] {
            let place = Place::new();
            let ran = place.run(&[option], &[program.to_str().unwrap()]);
            assert_eq!(ran.err, "", "{ran:?}");
            assert_eq!(
                place.speakers().len(),
                1,
                "{libc:?} {option}: {}",
                place.said()
            );
        }
    }
}

/// The file is open before rights are dropped, for the children, too.
#[test]
fn it_needs_no_rights_later() {
    if !nix::unistd::geteuid().is_root() {
        return skip("messages after rights were dropped", "it needs root").unwrap_or(());
    }
    if !others(
        "messages after rights were dropped",
        Path::new(env!("HUGETOOLS_PRELOAD")),
    ) {
        return;
    }
    let place = Place::new();
    fs::set_permissions(place.0.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let drops = format!(
        "$) = $( = 65534; $> = $< = 65534; open(F, '>>', '{}') and die; \
         system('perl', '-e', '0'); exit 0",
        place.file().display()
    );
    quiet(&place.run(&["--shm"], &["perl", "-e", &drops]));
    assert_eq!(place.speakers().len(), 2, "{}", place.said());
}

/// A number that the program gives to another file is not written to.
#[test]
fn a_closed_descriptor_is_opened_anew() {
    let place = Place::new();
    let other = place.0.path().join("other");
    let taken = format!(
        "use POSIX; POSIX::close($_) for 3..1023; $^F = 2000; open(F, '>', '{}'); \
         POSIX::dup2(fileno(F), $_) for 400..900; system('perl', '-e', '0'); exit 0",
        other.display()
    );
    quiet(&place.run(&["--shm"], &["perl", "-e", &taken]));
    assert_eq!(place.speakers().len(), 2, "{}", place.said());
    assert_eq!(fs::read_to_string(other).unwrap(), "");
}

#[test]
fn what_cannot_be_opened_ends_the_start() {
    let run = |word: &str, program: &str| -> Ran {
        let mut command = tool("hugectl");
        command.args([&format!("--messages={word}"), "--shm", program]);
        command.output().unwrap().into()
    };
    for (word, why) in [
        ("/nowhere/x", "(ENOENT)\n  name a file"),
        ("/", "(EISDIR)"),
        ("77", "no file of that number is open\n  have your shell"),
        ("", "neither a file nor the number"),
    ] {
        let ran = run(word, "true");
        assert_eq!(ran.status, 125, "{ran:?}");
        let named = format!("hugectl: ERROR: --messages={word}: ");
        assert!(
            ran.err.starts_with(&named) && ran.err.contains(why),
            "{ran:?}"
        );
    }
    // A program that is not there is a message as any other.
    let place = Place::new();
    let ran = place.run(&[], &["./nothing-there"]);
    assert_eq!((ran.status, ran.err.as_str()), (127, ""), "{ran:?}");
    assert!(place.said().contains("nothing-there"), "{}", place.said());
}

/// Neither a plan nor a prediction has a use for it.
#[test]
fn what_starts_nothing_makes_no_file() {
    let place = Place::new();
    for option in ["--dry-run", "--explain"] {
        let ran = place.run(&[option, "--shm"], &["true"]);
        assert!(!place.file().exists(), "{ran:?}");
    }
    let ran = place.run(&["--dry-run", "--shm"], &["true"]);
    let line = format!("HUGETLB_MESSAGES='{}'\n", place.file().display());
    assert!(ran.out.contains(&line), "{ran:?}");
}

/// What would be a table on standard error, by the library and by who watches.
#[test]
fn the_report_goes_with_the_messages() {
    // One that is killed at once may be gone before anybody has looked at it.
    for end in ["exit 0", "sleep 1; kill 'KILL', $$"] {
        let place = Place::new();
        let shell = format!(
            "'{}' {} -q --thp --report perl -e \"$0\"; :",
            hugectl().display(),
            place.option()
        );
        let mut command = Command::new("sh");
        let ran: Ran = command.args(["-c", &shell, end]).output().unwrap().into();
        assert!(!ran.err.contains("stack"), "{ran:?}");
        let since = std::time::Instant::now();
        while !place.said().contains("\nended ") {
            assert!(since.elapsed().as_secs() < 30, "{end}: {}", place.said());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

/// A hugectl further down keeps its messages there, too.
#[test]
fn a_hugectl_within_does_the_same() {
    let place = Place::new();
    let within = hugectl().to_str().unwrap();
    quiet(&place.run(&[], &[within, "true"]));
    let said = place.said();
    let lines = said.matches("hugectl: WARNING: nothing was").count();
    assert_eq!(lines, 2, "{said}");
}

/// A compiler starts programs of its own, and standard error is all that tells of a
/// warning.
#[test]
fn a_compiler_is_as_silent_as_without() {
    let place = Place::new();
    let source = place.0.path().join("x.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let object = Path::new(&source).with_extension("x");
    let words = [
        "cc",
        source.to_str().unwrap(),
        "-o",
        object.to_str().unwrap(),
    ];
    quiet(&place.run(&["--heap=thp"], &words));
    assert!(place.speakers().len() >= 4, "{}", place.said());
}
