//! `--report=FILE` on a full disk, and after the program has dropped its privileges.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use super::lines;
use crate::support::needs::{self, mounts, nobody_can_run};
use crate::support::tool::{Ran, Run, tool};

/// Runs a Perl program under hugectl with a report to a file.
fn perl(file: &Path, options: &[&str], program: &str) -> Ran {
    let mut command = tool("hugectl");
    let report = format!("--report={}", file.display());
    command.args(options).args([&report, "perl", "-e", program]);
    command.ran()
}

#[test]
fn a_full_disk_is_a_warning() {
    for (options, warnings) in [(&["--shm"][..], 1), (&["--shm", "-q", "-q"], 0)] {
        let ran = perl(Path::new("/dev/full"), options, "print 7");
        assert_eq!((ran.status, ran.out.as_str()), (0, "7"), "{ran:?}");
        let message = "warning: no report: it cannot be written";
        assert_eq!(ran.err.matches(message).count(), warnings, "{ran:?}");
    }
}

/// `setpriv` becomes a user who cannot write to root's file. The program sleeps so that
/// hugectl samples it and learns that the library writes the report.
#[test]
fn a_file_of_another_user_is_a_warning() {
    let test = "a file of another user";
    if !needs::root(test) {
        return;
    }
    if !nobody_can_run(test, Path::new(env!("HUGETOOLS_PRELOAD"))) {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let file = dir.path().join("report");
    let run = || -> Ran {
        let mut command = tool("hugectl");
        let report = format!("--report={}", file.display());
        command.args(["--shm", &report, "setpriv", "--reuid=65534"]);
        let program = "print 7; select undef, undef, undef, 1.5";
        command.args(["--clear-groups", "perl", "-e", program]);
        command.ran()
    };
    let ran = run();
    assert_eq!((ran.status, ran.out.as_str()), (0, "7"), "{ran:?}");
    let message = format!("{} cannot be opened by user 65534", file.display());
    assert_eq!(ran.err.matches(&message).count(), 1, "{ran:?}");
    nix::unistd::chown(&file, Some(65534.into()), None).unwrap();
    let ran = run();
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{ran:?}");
    let text = fs::read_to_string(&file).unwrap();
    assert_eq!(
        text.matches("\"exe\":\"/usr/bin/perl\"").count(),
        1,
        "{text}"
    );
    assert!(!text.contains("\"host\":null"), "{text}");
}

/// Servers drop root, close all descriptors, and call chroot.
#[test]
fn a_confined_program_has_its_report() {
    if !needs::root("the report of a confined program") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let drop_root = "use POSIX; POSIX::close($_) for 3..1023; $) = $( = 65534; $> = $< = 65534;";
    let reuse_descriptors = format!(
        "use POSIX; POSIX::close($_) for 3..1023; open(F, '>', '{}/other'); \
         POSIX::dup2(fileno(F), $_) for 400..900",
        dir.path().display()
    );
    let enter_chroot = format!(
        "chroot('{}') or die; chdir '/'; $> = 65534;",
        root.display()
    );
    for program in [drop_root, &reuse_descriptors, &enter_chroot] {
        let _ = fs::remove_file(&file);
        let ran = perl(&file, &["--heap=thp", "-q"], program);
        assert_eq!(
            (ran.status, ran.err.as_str()),
            (0, ""),
            "{program}: {ran:?}"
        );
        let all = lines(&file, 1);
        assert_eq!(all.len(), 1, "{program}: {all:?}");
        // Either the last sample, or a warning that smaps could not be read.
        let has = |key: &str| !all[0][key].as_array().unwrap().is_empty();
        assert!(has("segments") || has("warnings"), "{program}: {all:?}");
    }
    let other = fs::read_to_string(dir.path().join("other")).unwrap();
    assert_eq!(other, "");
    // hugectl writes only for its own child.
    let forks = format!("if (fork) {{ wait }} else {{ {drop_root} }}");
    let ran = perl(&file, &["--heap=thp"], &forks);
    assert_eq!(
        ran.err.matches("warning: no report: ").count(),
        1,
        "{ran:?}"
    );
}

/// The program's first descriptor is the same as without hugectl.
#[test]
fn the_report_file_takes_no_low_descriptor() {
    let dir = tempfile::tempdir().unwrap();
    let print_fd = "open(F, '<', '/dev/null'); print fileno(F)";
    let ran = perl(&dir.path().join("report"), &["--shm", "-q"], print_fd);
    let plain = Command::new("perl").args(["-e", print_fd]).ran();
    assert_eq!(ran.out, plain.out, "{ran:?}");
}

#[test]
fn hugetlb_report_without_hugectl() {
    let dir = tempfile::tempdir().unwrap();
    for (value, message) in [
        ("stderr", "warning: the value of HUGETLB_REPORT"),
        (
            "/nowhere/report",
            "warning: no report: /nowhere/report cannot be opened",
        ),
        ("report", ""),
    ] {
        let mut command = Command::new("/bin/true");
        command.current_dir(dir.path());
        command.env("LD_PRELOAD", env!("HUGETOOLS_PRELOAD"));
        let ran = command.env("HUGETLB_REPORT", value).ran();
        assert!(ran.err.contains(message), "{value}: {ran:?}");
        assert_eq!(ran.err.is_empty(), message.is_empty(), "{value}: {ran:?}");
        let written = dir.path().join(value).exists();
        assert_eq!(written, value == "report", "{value}");
    }
}

/// hugectl is process 1 of a container.
#[test]
fn a_report_of_process_1() {
    if !mounts("process 1") {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("report");
    let mut command = Command::new("unshare");
    command.args(["-p", "-f", "--mount-proc"]);
    command.arg(tool("hugectl").get_program());
    command.args(["-q", "--heap=thp", &format!("--report={}", file.display())]);
    command.args(["perl", "-MPOSIX", "-e"]);
    command.arg("fork or POSIX::_exit(4); wait; POSIX::_exit(3)");
    let ran = command.ran();
    assert_eq!((ran.status, ran.err.as_str()), (3, ""), "{ran:?}");
    let end = |line: &serde_json::Value| (line["pid"].as_u64(), line["ended"]["value"].as_u64());
    let ends: Vec<_> = lines(&file, 2).iter().map(end).collect();
    assert_eq!(ends, [(Some(3), Some(4)), (Some(2), Some(3))]);
}
