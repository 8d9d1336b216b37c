//! `--messages`: messages of hugectl and the libraries go to a file or a descriptor.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::needs::{self, nobody_can_run};
use crate::support::tool::{Ran, Run, hugectl, tool};

/// A variable with an invalid value, which every process reports.
const INVALID: &str = "HUGETLB_MORECORE_SHRINK";

/// A directory with a message file.
struct Log(tempfile::TempDir);

impl Log {
    fn new() -> Log {
        Log(tempfile::tempdir().unwrap())
    }

    fn file(&self) -> PathBuf {
        self.0.path().join("messages")
    }

    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap_or_default()
    }

    fn run(&self, options: &[&str], program: &[&str]) -> Ran {
        let mut command = tool("hugectl");
        command.env("PATH", "/usr/bin:/bin").env(INVALID, "?");
        command.arg(format!("--messages={}", self.file().display()));
        let ran = command.args(options).args(program).output();
        ran.unwrap().into()
    }

    /// Returns the processes with a message.
    fn processes(&self) -> BTreeSet<u32> {
        let text = self.text();
        let lines = text.lines().filter(|line| line.contains(INVALID));
        let pid = |line: &str| {
            let rest = line.strip_prefix("libhugetlbfs: warning: process ");
            let (pid, _) = rest.expect(line).split_once(": ").expect(line);
            pid.parse().unwrap()
        };
        lines.map(pid).collect()
    }
}

fn assert_quiet(ran: &Ran) {
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
}

#[test]
fn all_messages_go_to_the_file() {
    let log = Log::new();
    let script = "perl -e 0; sh -c 'perl -e 0; :'; exec perl -e 'fork; wait; exec \"true\"'";
    assert_quiet(&log.run(&[], &["sh", "-c", script]));
    let text = log.text();
    // One line of hugectl, and one of each executed program.
    assert_eq!(text.matches("hugectl: warning: ").count(), 1, "{text}");
    assert_eq!(text.matches(INVALID).count(), 7, "{text}");
    assert_eq!(log.processes().len(), 5, "{text}");
    // The file is appended to.
    assert_quiet(&log.run(&[], &["true"]));
    assert!(log.text().starts_with(&text));
    fs::remove_file(log.file()).unwrap();
    assert_quiet(&log.run(&["-q"], &["sh", "-c", script]));
    assert_eq!(log.text(), "");
    // A dry run doesn't create the file.
    fs::remove_file(log.file()).unwrap();
    log.run(&["--dry-run", "--shm"], &["true"]);
    assert!(!log.file().exists());
}

#[test]
fn messages_go_to_an_open_descriptor() {
    let log = Log::new();
    let script = format!(
        "'{}' --messages=7 sh -c 'perl -e 0; :' 7>>'{}'",
        hugectl().display(),
        log.file().display()
    );
    let mut shell = Command::new("sh");
    let ran = shell.args(["-c", &script]).env(INVALID, "?").ran();
    assert_quiet(&ran);
    assert_eq!(log.processes().len(), 2, "{}", log.text());
}

/// The file is opened before the program drops its privileges.
#[test]
fn messages_survive_setuid() {
    let test = "messages after privileges were dropped";
    if !needs::root(test) {
        return;
    }
    if !nobody_can_run(test, Path::new(env!("HUGETOOLS_PRELOAD"))) {
        return;
    }
    let log = Log::new();
    fs::set_permissions(log.0.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let drop_root = format!(
        "$) = $( = 65534; $> = $< = 65534; open(F, '>>', '{}') and die; \
         system('perl', '-e', '0'); exit 0",
        log.file().display()
    );
    assert_quiet(&log.run(&["--shm"], &["perl", "-e", &drop_root]));
    assert_eq!(log.processes().len(), 2, "{}", log.text());
}

/// The program closes our descriptor and reuses its number.
#[test]
fn a_closed_descriptor_is_opened_again() {
    let log = Log::new();
    let other = log.0.path().join("other");
    let reuse_descriptors = format!(
        "use POSIX; POSIX::close($_) for 3..1023; $^F = 2000; open(F, '>', '{}'); \
         POSIX::dup2(fileno(F), $_) for 400..900; system('perl', '-e', '0'); exit 0",
        other.display()
    );
    assert_quiet(&log.run(&["--shm"], &["perl", "-e", &reuse_descriptors]));
    assert_eq!(log.processes().len(), 2, "{}", log.text());
    assert_eq!(fs::read_to_string(other).unwrap(), "");
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error() {
    for word in ["/nowhere/x", "/", "77", ""] {
        let mut command = tool("hugectl");
        command.args([&format!("--messages={word}"), "--shm", "true"]);
        let ran = command.ran();
        let named = format!("hugectl: error: --messages={word}: ");
        assert!(ran.status == 125 && ran.err.starts_with(&named), "{ran:?}");
    }
    // The message about a missing program goes to the file, too.
    let log = Log::new();
    let ran = log.run(&[], &["./nothing-there"]);
    assert_eq!((ran.status, ran.err.as_str()), (127, ""), "{ran:?}");
    assert!(log.text().contains("nothing-there"), "{}", log.text());
}

#[test]
fn the_report_goes_to_the_message_file() {
    let log = Log::new();
    let ran = log.run(&["-q", "--thp", "--report"], &["perl", "-e", "exit 0"]);
    assert!(!ran.err.contains("stack"), "{ran:?}");
    assert!(log.text().contains("\nended "), "{}", log.text());
}

/// Build systems treat output on standard error as a warning.
#[test]
fn a_compiler_prints_nothing() {
    let log = Log::new();
    let source = log.0.path().join("x.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let object = source.with_extension("x");
    let args = [source.to_str().unwrap(), "-o", object.to_str().unwrap()];
    let words = [&["cc"][..], &args].concat();
    assert_quiet(&log.run(&["--heap=thp"], &words));
    assert!(log.processes().len() >= 4, "{}", log.text());
}
