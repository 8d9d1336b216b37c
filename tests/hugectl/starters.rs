//! Starters that drop the environment, such as su and sudo: hugectl's advice works. After
//! it the warning is gone and the memory is on huge pages.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::support::live::{machine, skip_aloud};
use crate::support::tool::{copy, sh, write};

const WARNING: &str = "starts its program without this environment";

/// A script that allocates 80 MB and keeps them for a second, so that `--report` sees
/// them.
const SCRIPT: &[u8] = b"#!/usr/bin/perl\nmy $x = 'x' x 80_000_000; \
    select undef, undef, undef, 1; print length $x;\n";

/// Returns a directory for all users with hugectl and the script.
fn place() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script");
    copy(env!("CARGO_BIN_EXE_hugectl"), dir.path().join("hugectl"));
    write(&script, SCRIPT);
    for path in [dir.path(), &script] {
        fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
    }
    dir
}

/// Whether a report has more than 60 MB on huge pages.
fn is_huge(report: &str) -> bool {
    let most = report.lines().rev().find_map(|line| {
        let (_, most) = line.split_once("most seen: ")?;
        let (_, huge) = most.split_once("resident, ")?;
        huge.strip_suffix(" kB huge")?.parse::<u64>().ok()
    });
    most > Some(60_000)
}

/// Runs a line, then the command that the warning suggests after the words `before`.
fn follow_advice(place: &Path, line: &str, before: &str) {
    let hugectl = place.join("hugectl");
    let ran = sh(&format!("{} --heap --report {line}", hugectl.display()));
    assert!(!is_huge(&ran.err), "{line}: {ran:?}");
    let mut lines = ran.err.lines();
    let warning = lines.find(|told| told.contains(WARNING)).expect(&ran.err);
    let (_, advice) = warning.split_once(before).expect(warning);
    let ran = sh(advice);
    assert_eq!(ran.status, 0, "{advice}: {ran:?}");
    assert!(ran.out.ends_with("80000000"), "{advice}: {ran:?}");
    assert!(!ran.err.contains(WARNING), "{advice}: {ran:?}");
    assert!(is_huge(&ran.err), "{advice}: {ran:?}");
}

#[test]
fn starters_of_a_program() {
    let Some(live) = machine("advice for su, sudo and others") else {
        return;
    };
    live.set_pool(60);
    let place = place();
    let script = place.path().join("script");
    let script = script.display();
    let shell = "; start hugectl in that shell: ";
    let behind = "; start hugectl behind it: ";
    for (line, before) in [
        (format!("su - daemon -s /bin/sh -c {script}"), shell),
        (format!("env -i A=b {script}"), behind),
        (format!("nice setpriv --reset-env {script}"), behind),
    ] {
        follow_advice(place.path(), &line, before);
    }
    match Path::new("/usr/bin/sudo").exists() {
        true => follow_advice(place.path(), &format!("sudo -u daemon {script}"), behind),
        false => skip_aloud("advice for sudo", "there is no sudo"),
    }
}

/// A script in `/etc/init.d`, removed at the end.
struct InitScript(PathBuf);

impl Drop for InitScript {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_service_without_systemd() {
    let name = "advice for service";
    let Some(live) = machine(name) else { return };
    let has = |path: &str| Path::new(path).exists();
    if has("/run/systemd/system") || !has("/usr/sbin/service") || !has("/etc/init.d") {
        return skip_aloud(name, "there is no service(8), or systemd is running");
    }
    live.set_pool(60);
    let place = place();
    let name = format!("hugetools-{}", std::process::id());
    let script = InitScript(Path::new("/etc/init.d").join(&name));
    copy(place.path().join("script"), &script.0);
    let before = "what /etc/default has to export): ";
    follow_advice(place.path(), &format!("service {name} start"), before);
}
