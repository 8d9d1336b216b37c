//! What hugectl says of starters that drop the environment, carried out: then it
//! is not said any more, and the memory is on huge pages.
#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::live::{machine, skip_aloud};
use crate::support::postgres;
use crate::support::tool::{Ran, copy, sh, write};

/// What is said of all of them.
const DROPS: &str = "starts its program without this environment";

/// hugectl where everybody can run it, and a script that takes 80 MB.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    fn new() -> Place {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), Permissions::from_mode(0o755)).unwrap();
        let place = Place { dir };
        copy(env!("CARGO_BIN_EXE_hugectl"), place.path("hugectl"));
        // It has them for a while, so that whoever watches it sees them.
        let script = b"#!/usr/bin/perl\nmy $x = 'x' x 80_000_000; \
            select undef, undef, undef, 1; print length $x;\n";
        write(&place.path("takes"), script);
        fs::set_permissions(place.path("takes"), Permissions::from_mode(0o755)).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts a command line under hugectl; what it says, and the advice in it.
    fn advice(&self, options: &str, line: &str, before: &str) -> (Ran, String) {
        let hugectl = self.path("hugectl");
        let ran = sh(&format!("{} {options} {line}", hugectl.display()));
        let mut lines = ran.err.lines();
        let said = lines.find(|said| said.contains(DROPS)).expect(&ran.err);
        let (_, advice) = said.split_once(before).expect(said);
        let advice = advice.to_owned();
        (ran, advice)
    }
}

/// Whether a report has had more than 60 MB on huge pages.
fn is_huge(report: &str) -> bool {
    let most = report.lines().rev().find_map(|line| {
        let (_, most) = line.split_once("most seen: ")?;
        let (_, huge) = most.split_once("resident, ")?;
        huge.strip_suffix(" kB huge")?.parse::<u64>().ok()
    });
    most > Some(60_000)
}

fn carried_out(place: &Place, line: &str, before: &str) {
    let (ran, advice) = place.advice("--heap --report", line, before);
    assert!(!is_huge(&ran.err), "{line}: {ran:?}");
    let now = sh(&advice);
    assert_eq!(now.status, 0, "{advice}: {now:?}");
    assert!(now.out.ends_with("80000000"), "{advice}: {now:?}");
    assert!(!now.err.contains(DROPS), "{advice}: {now:?}");
    assert!(is_huge(&now.err), "{advice}: {now:?}");
}

#[test]
fn starters_of_a_program() {
    let Some(live) = machine("advice for su, sudo and others") else {
        return;
    };
    if postgres::installed("advice for su").is_none() {
        return;
    }
    live.set_pool(60);
    let place = Place::new();
    let takes = place.path("takes");
    let takes = takes.display();
    let shell = "; start hugectl in that shell: ";
    let behind = "; start hugectl behind it: ";
    for (line, before) in [
        (format!("su - postgres -s /bin/sh -c {takes}"), shell),
        (format!("su -l -c 'cd /; exec {takes}' postgres"), shell),
        (format!("runuser -l postgres -c {takes}"), shell),
        (format!("env -i A=b {takes}"), behind),
        (format!("nice setpriv --reset-env {takes}"), behind),
    ] {
        carried_out(&place, &line, before);
    }
    match Path::new("/usr/bin/sudo").exists() {
        true => carried_out(&place, &format!("sudo -u postgres {takes}"), behind),
        false => skip_aloud("advice for sudo", "there is no sudo"),
    }
}

/// A script below `/etc/init.d`, removed at the end.
struct InitScript(PathBuf);

impl Drop for InitScript {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn a_service_without_systemd() {
    let Some(live) = machine("advice for service") else {
        return;
    };
    let has = |path: &str| Path::new(path).exists();
    if has("/run/systemd/system") || !has("/usr/sbin/service") || !has("/etc/init.d") {
        return skip_aloud(
            "advice for service",
            "systemd starts them, or there is none",
        );
    }
    live.set_pool(60);
    let place = Place::new();
    let name = format!("hugetools-{}", std::process::id());
    let script = InitScript(Path::new("/etc/init.d").join(&name));
    copy(place.path("takes"), &script.0);
    carried_out(
        &place,
        &format!("service {name} start"),
        "what /etc/default has to export): ",
    );
}

/// cron starts a job with these variables only.
#[test]
fn a_job_of_cron() {
    let Some(live) = machine("advice for cron") else {
        return;
    };
    live.set_pool(60);
    let place = Place::new();
    write(&place.path("cron"), b"#!/bin/sh\n");
    let run = format!("chmod 755 {0}; {0}", place.path("cron").display());
    let ran = sh(&run);
    assert_eq!(ran.status, 0, "{ran:?}");
    let line = place.path("cron").display().to_string();
    let before = "; in the job, put in front of its program: ";
    let (_, advice) = place.advice("--heap --report", &line, before);
    let mut job = Command::new("/bin/sh");
    let line = format!("{advice} {}", place.path("takes").display());
    job.args(["-c", &line]).env_clear();
    job.envs([
        ("HOME", "/"),
        ("LOGNAME", "root"),
        ("PATH", "/usr/bin:/bin"),
    ]);
    let ran: Ran = job.output().unwrap().into();
    assert!(ran.status == 0 && is_huge(&ran.err), "{ran:?}");
}

/// A cluster of Debian's PostgreSQL, removed at the end.
struct Cluster {
    version: String,
    name: String,
}

impl Cluster {
    fn new(test: &str) -> Option<Cluster> {
        let (bin, _) = postgres::installed(test)?;
        if !Path::new("/usr/bin/pg_createcluster").exists() {
            skip_aloud(test, "there is no pg_createcluster");
            return None;
        }
        let version = bin.parent()?.file_name()?.to_str()?.to_owned();
        let name = format!("hugetools{}", std::process::id());
        let cluster = Cluster { version, name };
        let ran = cluster.run(
            "pg_createcluster --port 5577 --pgoption huge_pages=off",
            "-- --no-sync",
        );
        assert_eq!(ran.status, 0, "{ran:?}");
        Some(cluster)
    }

    fn run(&self, before: &str, after: &str) -> Ran {
        sh(&format!("{before} {} {} {after}", self.version, self.name))
    }

    /// The number of the server.
    fn pid(&self) -> String {
        let file = format!("/var/lib/postgresql/{}/{}", self.version, self.name);
        let text = fs::read_to_string(Path::new(&file).join("postmaster.pid")).unwrap();
        text.lines().next().unwrap().to_owned()
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let _ = self.run("pg_dropcluster --stop", "");
    }
}

/// Whether a line of `--status` has huge pages.
fn is_on_huge_pages(line: &str) -> bool {
    let huge = line.split_whitespace().nth(3);
    huge.is_some_and(|huge| huge != "0")
}

#[test]
fn a_cluster_of_postgresql() {
    let Some(live) = machine("advice for pg_ctlcluster") else {
        return;
    };
    let Some(cluster) = Cluster::new("advice for pg_ctlcluster") else {
        return;
    };
    live.set_pool(120);
    // Or these, where somebody else has the pool's.
    live.set_shmem_enabled("advise");
    let place = Place::new();
    let start = format!("pg_ctlcluster {} {} start", cluster.version, cluster.name);
    let before = "hugectl --emit=environment prints lines that outlive a reboot): ";
    let (ran, advice) = place.advice("--shm", &start, before);
    assert_eq!(ran.status, 0, "{ran:?}");
    let status = |pid: &str| {
        let hugectl = place.path("hugectl");
        let ran = sh(&format!("{} --status {pid}", hugectl.display()));
        let shm = ran.out.lines().find(|line| line.starts_with("shm "));
        shm.unwrap_or_default().to_owned()
    };
    assert!(!is_on_huge_pages(&status(&cluster.pid())));
    let ran = cluster.run("pg_ctlcluster", "stop");
    assert_eq!(ran.status, 0, "{ran:?}");
    let ran = sh(&advice);
    assert_eq!(ran.status, 0, "{advice}: {ran:?}");
    let ran = sh(&start);
    assert_eq!((ran.status, ran.err.as_str()), (0, ""), "{advice}");
    let shm = status(&cluster.pid());
    assert!(is_on_huge_pages(&shm), "{advice}: {shm}");
    let again = format!(
        "{} --dry-run --shm {start}",
        place.path("hugectl").display()
    );
    let ran = sh(&again);
    assert!(!ran.err.contains(DROPS), "{ran:?}");
}
