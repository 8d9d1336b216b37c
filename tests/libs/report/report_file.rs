//! Where a report goes when the program has changed what it may do.
#![expect(clippy::disallowed_methods, reason = "tests use files of their own")]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use crate::support::live::skip;
use crate::support::needs::{mounts, others};
use crate::support::tool::{Ran, tool};

/// Runs a program of perl under hugectl, with a report to a file.
fn perl(file: &Path, options: &[&str], program: &str) -> Ran {
    let mut command = tool("hugectl");
    command
        .args(options)
        .arg(format!("--report={}", file.display()));
    command.args(["perl", "-e", program]);
    command.output().unwrap().into()
}

/// A disk that is full is no reason for a program to fail, and none for silence.
#[test]
fn a_report_that_cannot_be_written_is_told() {
    for (options, said) in [(&["--shm"] as &[&str], 1), (&["--shm", "-q", "-q"], 0)] {
        let ran = perl(Path::new("/dev/full"), options, "print 7");
        assert_eq!((ran.status, ran.out.as_str()), (0, "7"), "{ran:?}");
        let line = "hugectl: WARNING: no report: it cannot be written: no space left on device";
        assert_eq!(ran.err.matches(line).count(), said, "{ran:?}");
    }
}

/// A starter that becomes another user leaves a file that this user cannot write to.
#[test]
fn whose_the_file_must_be_is_told() {
    if !nix::unistd::geteuid().is_root() {
        return skip("a file of another user", "it needs root").unwrap_or(());
    }
    if !others(
        "a file of another user",
        Path::new(env!("HUGETOOLS_PRELOAD")),
    ) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = dir.path().join("report");
    let run = || -> Ran {
        let mut command = tool("hugectl");
        command
            .arg("--shm")
            .arg(format!("--report={}", file.display()));
        command.args(["setpriv", "--reuid=65534", "--clear-groups"]);
        command
            .args(["perl", "-e", "print 7"])
            .output()
            .unwrap()
            .into()
    };
    let ran = run();
    assert_eq!((ran.status, ran.out.as_str()), (0, "7"), "{ran:?}");
    let file_name = file.display();
    let told = format!(
        "libhugetlbfs: WARNING: no report: {file_name} cannot be opened by user 65534 \
         (errno 13)\n"
    );
    assert_eq!(ran.err.matches(&told).count(), 1, "{ran:?}");
    let perl = || {
        let text = fs::read_to_string(&file).unwrap();
        text.matches("\"exe\":\"/usr/bin/perl\"").count()
    };
    assert_eq!(perl(), 0);
    nix::unistd::chown(&file, Some(65534.into()), None).unwrap();
    let ran = run();
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    assert_eq!(perl(), 1);
}

/// Servers that drop their rights could not open the file at the end.
#[test]
fn a_report_comes_after_rights_were_dropped() {
    if !nix::unistd::geteuid().is_root() {
        return skip("the file of a report", "it needs root").unwrap_or(());
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let file = dir.path().join("report");
    let drops = format!(
        "$) = $( = 65534; $> = $< = 65534; open(F, '>>', '{}') and die; print 7",
        file.display()
    );
    let ran = perl(&file, &["--shm", "-q"], &drops);
    assert_eq!((ran.status, ran.out.as_str()), (0, "7"), "{ran:?}");
    let report = fs::read_to_string(&file).unwrap();
    let value: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert!(value["segments"].is_array(), "{report}");
}

/// The program's own files have the numbers that they have without us, and one
/// that closes all it does not know, or gives our number away, loses nothing.
#[test]
fn its_descriptor_is_in_nobody_s_way() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let first = "open(F, '<', '/dev/null'); print fileno(F)";
    assert_eq!(perl(&file, &["--shm", "-q"], first).out, "3");
    let taken = format!(
        "use POSIX; POSIX::close($_) for 3..1023; open(F, '>', '{}/other'); \
         POSIX::dup2(fileno(F), $_) for 400..900",
        dir.path().display()
    );
    let ran = perl(&file, &["--shm", "-q"], &taken);
    assert_eq!(ran.status, 0, "{ran:?}");
    let report = fs::read_to_string(&file).unwrap();
    assert_eq!(report.lines().count(), 2, "{report}");
    let other = fs::read_to_string(dir.path().join("other")).unwrap();
    assert_eq!(other, "");
}

/// Servers that lock themselves in have no `/proc` there.
#[test]
fn a_report_comes_from_a_root_without_proc() {
    if !nix::unistd::geteuid().is_root() {
        return skip("the report of a new root", "it needs root").unwrap_or(());
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let leaves = format!(
        "chroot('{}') or die; chdir '/'; $> = 65534; print -e '/proc/self' ? 'there' : 'gone'",
        root.display()
    );
    let ran = perl(&file, &["--heap=thp", "-q"], &leaves);
    assert_eq!((ran.status, ran.out.as_str()), (0, "gone"), "{ran:?}");
    let report = fs::read_to_string(&file).unwrap();
    let value: serde_json::Value = serde_json::from_str(&report).unwrap();
    // What was last seen of it, or that it could not be looked at.
    let has = |key: &str| !value[key].as_array().unwrap().is_empty();
    assert!(has("segments") || has("warnings"), "{report}");
    // Nothing is kept by which one could leave again.
    let kept = "opendir(D, '/proc/self/fd'); my @f = grep { -d \"/proc/self/fd/$_\" } readdir D; \
                print scalar @f;";
    let look = |before: &str| perl(&file, &["--heap=thp", "-q"], &format!("{before}{kept}")).out;
    assert_eq!(look("chroot '/' or die; "), look(""));
}

/// The variable alone: words that are no files, and a file that cannot be.
#[test]
fn the_variable_names_a_file_or_is_told() {
    let dir = tempfile::tempdir().unwrap();
    for (value, told) in [
        (
            "stderr",
            "WARNING: the value of HUGETLB_REPORT is not understood",
        ),
        (
            "1",
            "WARNING: the value of HUGETLB_REPORT is not understood",
        ),
        (
            "/nowhere/report",
            "WARNING: no report: /nowhere/report cannot be opened by user 0 (errno 2)\n",
        ),
        ("report", ""),
    ] {
        let mut command = Command::new("/bin/true");
        command.current_dir(dir.path());
        command.env("LD_PRELOAD", env!("HUGETOOLS_PRELOAD"));
        let ran: Ran = command
            .env("HUGETLB_REPORT", value)
            .output()
            .unwrap()
            .into();
        assert!(ran.err.contains(told), "{value}: {ran:?}");
        assert_eq!(ran.err.is_empty(), told.is_empty(), "{value}: {ran:?}");
        let written = dir.path().join(value).exists();
        assert_eq!(written, value == "report", "{value}");
    }
}

/// A program that closes all it does not know, as daemons do, and is another user cannot
/// open the file again: hugectl has it, and writes.
#[test]
fn a_report_comes_of_who_has_closed_all_and_is_another_user() {
    if !nix::unistd::geteuid().is_root() {
        return skip("the report of another user", "it needs root").unwrap_or(());
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let drops = "use POSIX; POSIX::close($_) for 3..1023; $) = $( = 65534; $> = $< = 65534;";
    let ran = perl(&file, &["--heap=thp"], drops);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    let report = fs::read_to_string(&file).unwrap();
    assert_eq!(report.lines().count(), 1, "{report}");
    // A child of it has nobody who writes for it, and says so.
    let forks = format!("if (fork) {{ wait }} else {{ {drops} }}");
    let ran = perl(&file, &["--heap=thp"], &forks);
    assert_eq!(
        ran.err.matches("WARNING: no report: ").count(),
        1,
        "{ran:?}"
    );
}

/// As the first process of a container hugectl is the parent, too.
#[test]
fn the_first_process_of_a_container_leaves_a_line() {
    if !mounts("the first process") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let mut command = Command::new("unshare");
    command.args(["-p", "-f", "--mount-proc"]);
    command
        .arg(tool("hugectl").get_program())
        .arg("-q")
        .arg("--heap=thp");
    command.arg(format!("--report={}", file.display()));
    command.args([
        "perl",
        "-MPOSIX",
        "-e",
        "fork or POSIX::_exit(4); wait; POSIX::_exit(3)",
    ]);
    let ran: Ran = command.output().unwrap().into();
    assert_eq!((ran.status, ran.err.as_str()), (3, ""), "{ran:?}");
    let text = fs::read_to_string(&file).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let told = |line: serde_json::Value| (line["pid"].as_u64(), line["ended"]["value"].as_u64());
    let told: Vec<_> = lines.map(told).collect();
    assert_eq!(told, [(Some(3), Some(4)), (Some(2), Some(3))]);
}
