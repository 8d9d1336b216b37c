//! PostgreSQL under load: page tables, parallel queries over each kind of dynamic shared
//! memory, a killed backend; and nothing remains.

use std::fmt::Write;
use std::fs;
use std::time::{Duration, Instant};

use super::Server;
use crate::support::live::{Live, can_be_set, machine};
use crate::support::tool::Ran;

const CLIENTS: usize = 10;

/// The options of `--auto`, and options for more kinds of memory.
const WAYS: [&[&str]; 2] = [&["--shm"], &["--heap", "--shm", "--anon", "--stack", "-q"]];

const SUM: &str = "select sum(aid), sum(length(filler)), count(*) from pgbench_accounts";

impl Server {
    fn ask(&self, text: &str) -> Ran {
        let socket = self.data();
        let at = ["-h", socket.to_str().unwrap(), "-p", "5544", "-XAtq"];
        self.run("psql", &[&at[..], &["-c", text, "postgres"]].concat(), &[])
    }

    fn psql(&self, text: &str) -> String {
        let ran = self.ask(text);
        assert_eq!(ran.status, 0, "{text}: {ran:?}");
        ran.out
    }

    fn fill(&self) {
        self.configure("mmap", "off");
        let ran = self.start_by(&[]);
        assert_eq!(ran.status, 0, "{ran:?}");
        let socket = self.data();
        let at = ["-h", socket.to_str().unwrap(), "-p", "5544"];
        let words = [&at[..], &["-i", "-q", "-s", "26", "postgres"]].concat();
        let ran = self.run("pgbench", &words, &[]);
        assert_eq!(ran.status, 0, "{ran:?}");
        self.stop();
    }

    fn set(&self, more: &str) {
        self.configure("mmap", "off");
        let path = self.data().join("postgresql.auto.conf");
        let mut text = fs::read_to_string(&path).unwrap();
        writeln!(text, "{more}").unwrap();
        fs::write(&path, text).unwrap();
    }

    fn processes(&self) -> Vec<String> {
        let main = self.pid();
        let children = format!("/proc/{main}/task/{main}/children");
        let children = fs::read_to_string(children).unwrap_or_default();
        let children = children.split_whitespace().map(str::to_owned);
        std::iter::once(main).chain(children).collect()
    }

    /// Returns the page tables of these processes in kB.
    fn page_tables(&self) -> u64 {
        let of = |pid: String| {
            let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
            let line = text.lines().find_map(|line| line.strip_prefix("VmPTE:"));
            let kb = line.and_then(|line| line.split_whitespace().next());
            kb.and_then(|kb| kb.parse::<u64>().ok()).unwrap_or(0)
        };
        self.processes().into_iter().map(of).sum()
    }

    /// Returns the page tables after each client has read a whole table.
    fn page_tables_under_load(&self) -> u64 {
        self.set("max_parallel_workers_per_gather=0");
        let script = self.data().join("load.sql");
        let text = "select count(bid) from pgbench_accounts;\nselect pg_sleep(60);\n";
        fs::write(&script, text).unwrap();
        // A sequential scan alone doesn't fill the buffers.
        self.psql("create extension if not exists pg_prewarm");
        self.psql("select pg_prewarm('pgbench_accounts')");
        let socket = self.data();
        let clients = CLIENTS.to_string();
        let words = [
            ["-h", socket.to_str().unwrap(), "-p", "5544"],
            ["-n", "-t1", "-c", clients.as_str()],
            ["-j", "2", "-f", script.to_str().unwrap()],
        ]
        .concat();
        let words = [&words[..], &["postgres"]].concat();
        std::thread::scope(|scope| {
            let load = scope.spawn(|| self.run("pgbench", &words, &[]));
            let asleep = "from pg_stat_activity where wait_event='PgSleep'";
            let all = format!("{CLIENTS}\n");
            let ready = || self.psql(&format!("select count(*) {asleep}")) == all;
            let is_ready = until(ready);
            let tables = self.page_tables();
            self.psql(&format!("select pg_terminate_backend(pid) {asleep}"));
            load.join().unwrap();
            assert!(is_ready, "the clients do not finish");
            tables
        })
    }
}

/// Waits at most 40 s. Returns false after a timeout.
fn until(mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > Duration::from_secs(40) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    true
}

fn files() -> usize {
    let all = fs::read_dir("/dev/shm").unwrap();
    let name = |entry: std::io::Result<fs::DirEntry>| entry.unwrap().file_name();
    let all = all.map(name);
    all.filter(|name| name.to_string_lossy().starts_with("PostgreSQL"))
        .count()
}

const PAGES: u64 = 320;

/// Returns what remains of an ended server: free pages, segments, files.
fn left(live: &Live, server: &Server) -> (u64, usize, usize) {
    let pages = live.wait_for_free_pages(PAGES);
    (pages, server.wait_for_segments(), files())
}

const PARALLEL: &str = "set parallel_setup_cost=0; set parallel_tuple_cost=0; \
                        set min_parallel_table_scan_size=0; \
                        set max_parallel_workers_per_gather=2;";

/// Runs parallel queries before and after a backend is killed.
fn life(server: &Server, way: &[&str], kind: &str) -> [String; 2] {
    server.set(&format!("dynamic_shared_memory_type={kind}"));
    let ran = server.start_by(way);
    assert_eq!(ran.status, 0, "{way:?} {kind}: {ran:?} {}", server.log());
    let plan = server.psql(&format!("{PARALLEL} explain (analyze, timing off) {SUM}"));
    assert!(
        plan.contains("Workers Launched: 2"),
        "{way:?} {kind}: {plan}"
    );
    let before = server.psql(&format!("{PARALLEL} {SUM}"));
    // A shell whose parent is the backend.
    let killed = server.ask("copy (select 1) to program 'kill -9 $PPID'");
    assert_ne!(killed.status, 0, "{way:?} {kind}: {killed:?}");
    let main = server.pid();
    let is_back = || {
        let log = server.log();
        let mut back = log
            .lines()
            .rev()
            .skip_while(|line| !line.contains("ready to accept"));
        back.any(|line| line.contains("terminated by signal 9"))
    };
    assert!(until(is_back), "{way:?} {kind}: {}", server.log());
    assert_eq!(server.pid(), main);
    let after = server.psql(&format!("{PARALLEL} {SUM}"));
    assert!(
        !server.log().contains("libhugetlbfs: error"),
        "{}",
        server.log()
    );
    server.stop();
    [before, after]
}

#[test]
fn a_server_under_load() {
    const TEST: &str = "PostgreSQL under load";
    if !can_be_set(TEST) {
        return;
    }
    let Some(server) = Server::new() else { return };
    server.fill();
    let Some(live) = machine(TEST) else { return };
    live.set_pool(PAGES);
    // Other servers may run.
    let nothing = (PAGES, 0, files());
    let ran = live.hugeadm(&["--set-shm-group", "postgres"]);
    assert_eq!(ran.status, 0, "{ran:?}");
    let tables = [&[][..], WAYS[1]].map(|way| {
        let ran = server.start_by(way);
        assert_eq!(ran.status, 0, "{way:?} {ran:?}");
        let tables = server.page_tables_under_load();
        server.stop();
        assert_eq!(left(&live, &server), nothing, "{way:?}");
        tables
    });
    // Less than 40 % of the page tables; with 2 GB of buffers it would be 10 %.
    assert!(tables[1] * 5 < tables[0] * 2, "{tables:?}");
    let [plain, recovered] = life(&server, &[], "posix");
    assert_eq!(plain, recovered);
    for (way, kind) in [(WAYS[1], "posix"), (WAYS[1], "sysv"), (WAYS[0], "mmap")] {
        let sums = life(&server, way, kind);
        assert_eq!(sums, [&*plain, &*plain], "{way:?} {kind}");
        assert_eq!(left(&live, &server), nothing, "{way:?} {kind}");
    }
}
