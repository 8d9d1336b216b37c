//! PostgreSQL: its shared memory is on huge pages, whichever way it asks for it.
#![expect(clippy::disallowed_methods, reason = "tests write their own files")]

mod load;

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::support::live::{Live, machine};
use crate::support::postgres;
use crate::support::tool::{Ran, Run, copy, tool};

/// A server's directory, programs and user.
struct Server {
    dir: tempfile::TempDir,
    bin: PathBuf,
    uid: String,
    /// System V segments of its user before the test.
    others: usize,
}

impl Server {
    fn new() -> Option<Server> {
        let (bin, user) = postgres::installed("PostgreSQL")?;
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let uid = user.uid.to_string();
        let others = segments_of(&uid);
        let server = Server {
            dir,
            bin,
            uid,
            others,
        };
        let data = server.data();
        fs::create_dir(&data).unwrap();
        chown(&data, Some(user.uid.as_raw()), Some(user.gid.as_raw())).unwrap();
        copy(env!("CARGO_BIN_EXE_hugectl"), server.hugectl());
        let ran = server.run("initdb", &["-A", "trust", "-D"], &[]);
        assert_eq!(ran.status, 0, "{ran:?}");
        Some(server)
    }

    fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// Returns the number of its user's new System V segments.
    fn segments(&self) -> usize {
        segments_of(&self.uid).saturating_sub(self.others)
    }

    /// Waits at most 5 s for the removal of its segments, and returns how many are left. A removed
    /// segment exists until the last process detaches it.
    fn wait_for_segments(&self) -> usize {
        let end = Instant::now() + Duration::from_secs(5);
        while self.segments() > 0 && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(10));
        }
        self.segments()
    }

    /// Returns hugectl's path, which user postgres can reach.
    fn hugectl(&self) -> PathBuf {
        self.dir.path().join("hugectl")
    }

    /// Runs one of its programs as user postgres, on its directory.
    fn run(&self, program: &str, args: &[&str], before: &[&str]) -> Ran {
        let data = self.data();
        let mut words = vec!["-u", "postgres", "--"];
        words.extend(before);
        let path = self.bin.join(program);
        words.push(path.to_str().unwrap());
        words.extend(args);
        let mut command = Command::new("runuser");
        command.args(words).current_dir("/").env("PGDATA", &data);
        if args.last() == Some(&"-D") {
            command.arg(&data);
        }
        command.ran()
    }

    fn configure(&self, kind: &str, huge_pages: &str) {
        let socket = self.data();
        let text = format!(
            "shared_buffers='512MB'\nhuge_pages={huge_pages}\nshared_memory_type={kind}\n\
             listen_addresses=''\nunix_socket_directories='{}'\nport=5544\n",
            socket.display()
        );
        fs::write(self.data().join("postgresql.auto.conf"), text).unwrap();
    }

    fn start(&self, options: &[&str]) -> Ran {
        self.start_by(&[&["--shm"], options].concat())
    }

    /// Starts under hugectl with these options, or without hugectl if there are none.
    fn start_by(&self, options: &[&str]) -> Ran {
        let log = self.data().join("log");
        let _ = fs::remove_file(&log);
        let hugectl = self.hugectl();
        let mut before = vec![hugectl.to_str().unwrap()];
        before.extend(options);
        before.retain(|_| !options.is_empty());
        self.run(
            "pg_ctl",
            &["-w", "-l", log.to_str().unwrap(), "start", "-D"],
            &before,
        )
    }

    fn stop(&self) {
        let ran = self.run("pg_ctl", &["-w", "-m", "fast", "stop", "-D"], &[]);
        assert_eq!(ran.status, 0, "{ran:?}");
    }

    fn log(&self) -> String {
        fs::read_to_string(self.data().join("log")).unwrap()
    }

    fn pid(&self) -> String {
        let text = fs::read_to_string(self.data().join("postmaster.pid")).unwrap();
        text.lines().next().unwrap().to_owned()
    }

    /// Returns the huge bytes of its shared memory, by `hugectl --status`.
    fn huge_bytes(&self) -> u64 {
        let pid = self.pid();
        let mut command = tool("hugectl");
        let ran = command.args(["--status", &pid, "--json"]).ran();
        assert_eq!(ran.status, 0, "{ran:?}");
        let status: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
        let segments = status["segments"].as_array().unwrap();
        let shm = segments
            .iter()
            .filter(|segment| segment["segment"] == "shm");
        shm.flat_map(|segment| segment["huge"].as_object().unwrap().values())
            .map(|bytes| bytes.as_u64().unwrap())
            .sum()
    }

    fn works(&self) {
        let socket = self.data();
        let at = ["-h", socket.to_str().unwrap(), "-p", "5544"];
        let fill = self.run(
            "pgbench",
            &[&at[..], &["-i", "-q", "-s", "2", "postgres"]].concat(),
            &[],
        );
        assert_eq!(fill.status, 0, "{fill:?}");
        let run = self.run(
            "pgbench",
            &[&at[..], &["-c", "3", "-T", "1", "postgres"]].concat(),
            &[],
        );
        assert_eq!(run.status, 0, "{run:?}");
        assert!(
            run.out.contains("number of failed transactions: 0"),
            "{run:?}"
        );
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.data().join("postmaster.pid").exists() {
            let _ = self.run("pg_ctl", &["-w", "-m", "immediate", "stop", "-D"], &[]);
        }
    }
}

fn segments_of(uid: &str) -> usize {
    let text = fs::read_to_string(Path::new("/proc/sysvipc/shm")).unwrap();
    let is_its = |line: &&str| line.split_whitespace().nth(7) == Some(uid);
    text.lines().filter(is_its).count()
}

/// Starts, loads and stops a server. Returns its huge bytes and its log.
fn life(live: &Live, server: &Server, kind: &str, huge_pages: &str) -> (u64, String) {
    server.configure(kind, huge_pages);
    let free = live.free_pages();
    let ran = server.start(&[]);
    assert_eq!(
        ran.status,
        0,
        "{kind} {huge_pages}: {ran:?} {}",
        server.log()
    );
    server.works();
    let (huge, log) = (server.huge_bytes(), server.log());
    server.stop();
    assert_eq!(
        live.wait_for_free_pages(free),
        free,
        "{kind} {huge_pages}: a page is missing"
    );
    let left = server.wait_for_segments();
    assert_eq!(left, 0, "{kind} {huge_pages}: a segment remains");
    (huge, log)
}

#[test]
fn shared_memory_is_on_huge_pages() {
    let Some(live) = machine("PostgreSQL") else {
        return;
    };
    let Some(server) = Server::new() else { return };
    live.set_pool(320);
    for huge_pages in ["off", "on"] {
        let (huge, log) = life(&live, &server, "mmap", huge_pages);
        assert!(huge > 0, "mmap {huge_pages}: {log}");
        assert!(!log.contains("libhugetlbfs: "), "{log}");
    }
    let (huge, log) = life(&live, &server, "sysv", "off");
    assert_eq!(huge, 0, "not in the group: {log}");
    assert!(log.contains("hugeadm --set-shm-group "), "{log}");
    let ran = live.hugeadm(&["--set-shm-group", "postgres"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let (huge, log) = life(&live, &server, "sysv", "off");
    assert!(huge > 0, "sysv: {log}");
}

/// The server's standard error is its log; pg_ctl's is that of hugectl.
#[test]
fn warnings_and_the_report_of_pg_ctl() {
    let Some(live) = machine("PostgreSQL with a small pool") else {
        return;
    };
    let Some(server) = Server::new() else { return };
    server.configure("mmap", "off");
    for pages in [0, 20, 320] {
        live.set_pool(pages);
        let ran = server.start(&["--report"]);
        let (log, pid) = (server.log(), server.pid());
        server.stop();
        let message = format!("libhugetlbfs: warning: process {pid}: shared memory: ");
        assert_eq!(ran.err.contains(&message), pages < 320, "{pages}: {ran:?}");
        assert_eq!(log.contains("hugeadm --"), pages < 320, "{pages}: {log}");
        let (_, report) = ran.err.split_once("still running").expect(&ran.err);
        let server = format!("postgres, process {pid}\n");
        assert!(report.contains(&server), "{pages}: {ran:?}");
        let shm = report.lines().find(|line| line.starts_with("shm "));
        let is_huge = shm.expect(report).ends_with("MB hugetlb");
        assert_eq!(is_huge, pages == 320, "{pages}: {report}");
    }
}
