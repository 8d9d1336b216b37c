//! Redis with a replica: the server forks while it is written to, and the replica becomes equal.

use std::io::Write;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::live::machine;
use crate::support::needs;
use crate::support::tool::{Ran, hugectl};

struct Server {
    child: Child,
    port: String,
}

impl Server {
    /// Starts a server with options of hugectl, or without hugectl; `of` makes it a replica.
    fn start(dir: &Path, options: Option<&[&str]>, of: Option<&Server>) -> Server {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
        let port = port.unwrap().port().to_string();
        let mut command = Command::new(options.map_or(Path::new("redis-server"), |_| hugectl()));
        if let Some(options) = options {
            command.args(options).arg("redis-server");
        }
        command.args(["--port", &port, "--bind", "127.0.0.1", "--save", ""]);
        command.args(["--enable-debug-command", "local"]);
        command.args(["--repl-diskless-sync", "no", "--dbfilename"]);
        command.arg(format!("{port}.rdb"));
        if let Some(of) = of {
            command.args(["--replicaof", "127.0.0.1", &of.port]);
        }
        command.current_dir(dir);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let server = Server { child, port };
        assert!(until(|| server.ask("ping") == "PONG"), "it does not answer");
        server
    }

    fn cli(&self, words: &[&str], script: &str) -> String {
        let mut command = Command::new("redis-cli");
        command.args(["-p", &self.port]).args(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut input = child.stdin.take().unwrap();
        let text = std::thread::scope(|scope| {
            // In a thread, since redis-cli prints answers while it reads.
            scope.spawn(move || input.write_all(script.as_bytes()));
            Ran::from(child.wait_with_output().unwrap()).out
        });
        text.trim_end().to_owned()
    }

    fn ask(&self, words: &str) -> String {
        self.cli(&words.split(' ').collect::<Vec<_>>(), "")
    }

    /// Returns a field of `info`.
    fn state(&self, field: &str) -> String {
        let text = self.ask("info");
        let mut lines = text.lines();
        let value = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        value.unwrap_or("").trim().to_owned()
    }

    fn stop(mut self) {
        self.ask("shutdown nosave");
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(mut is_so: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while !is_so() {
        if start.elapsed() > Duration::from_secs(20) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    true
}

/// Writes during the transfer. Returns the checksums of server and replica.
fn life(options: Option<&[&str]>) -> [String; 2] {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), options, None);
    assert_eq!(server.ask("debug populate 150000 key 400"), "OK");
    let replica = Server::start(dir.path(), options, Some(&server));
    let writes = |first: u32| -> String {
        let each = |n: u32| format!("set key:{} {n}\nappend log:{} {n},\n", n * 7, n % 50);
        (first..first + 2_500).map(each).collect()
    };
    let is_up = || replica.state("master_link_status") == "up";
    server.cli(&[], &writes(0));
    // The server forks within a second.
    let forks = || server.state("rdb_bgsave_in_progress") == "1" || is_up();
    assert!(until(forks), "the server does not fork");
    server.cli(&[], &writes(2_500));
    assert!(until(is_up));
    server.cli(&[], &writes(5_000));
    let is_level = || replica.state("slave_repl_offset") == server.state("master_repl_offset");
    assert!(until(is_level), "the replica stays behind");
    let digests = [&server, &replica].map(|server| server.ask("debug digest"));
    replica.stop();
    server.stop();
    digests
}

#[test]
fn a_replica_is_equal() {
    let name = "a replica of Redis";
    let Some(live) = machine(name) else { return };
    if !needs::programs(name, &["redis-server", "redis-cli"]) || !needs::loopback(name) {
        return;
    }
    live.set_pool(64);
    let [plain, copied] = life(None);
    assert!(plain == copied && plain.len() == 40, "{plain} {copied}");
    let all = ["--heap", "--shm", "--anon", "--stack", "-q"];
    assert_eq!(life(Some(&all)), [&*plain, &*plain]);
    assert_eq!(live.wait_for_free_pages(64), 64);
}
