//! A Redis that is asked all the time: each answer is right, and none much later than
//! before.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use super::{document, is_possible, only, share};
use crate::support::live::machine;
use crate::support::needs;

const KEYS: u32 = 150_000;
const LENGTH: usize = 1000;
/// How much later the slowest answer may come than the slowest one before.
const LATER: Duration = Duration::from_millis(50);

/// A server that is ended at the end of the test.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Client(BufReader<UnixStream>);

impl Client {
    fn connect(socket: &Path) -> Client {
        for _ in 0..200 {
            if let Ok(stream) = UnixStream::connect(socket) {
                return Client(BufReader::new(stream));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("the server does not answer");
    }

    fn send(&mut self, words: &str) {
        self.0.get_mut().write_all(words.as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        assert!(self.0.read_line(&mut line).unwrap() > 0, "it hangs up");
        line.trim_end().to_owned()
    }

    fn fill(&mut self) {
        for first in (0..KEYS).step_by(1000) {
            let all: String = (first..first + 1000)
                .map(|key| format!("SET key:{key} {}\r\n", value(key)))
                .collect();
            self.send(&all);
            for _ in 0..1000 {
                assert_eq!(self.line(), "+OK");
            }
        }
    }

    /// Asks for one key; how long the answer took.
    fn get(&mut self, key: u32) -> Duration {
        let start = Instant::now();
        self.send(&format!("GET key:{key}\r\n"));
        assert_eq!(self.line(), format!("${LENGTH}"));
        let answer = self.line();
        let took = start.elapsed();
        assert_eq!(answer, value(key));
        took
    }

    /// Asks until it is told to end; the slowest answer.
    fn ask(&mut self, end: impl Fn() -> bool) -> Duration {
        let (mut slowest, mut key) = (Duration::ZERO, 1_u32);
        while !end() {
            key = key.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            slowest = slowest.max(self.get(key % KEYS));
        }
        slowest
    }
}

fn value(key: u32) -> String {
    format!("{key:0LENGTH$}")
}

fn start(dir: &Path) -> (Server, Client) {
    let socket = dir.join("redis.sock");
    let mut command = Command::new("redis-server");
    command
        .args(["--port", "0", "--save", "", "--unixsocket"])
        .arg(&socket);
    command.current_dir(dir).stdout(Stdio::null());
    let server = Server(command.spawn().unwrap());
    let mut client = Client::connect(&socket);
    client.fill();
    (server, client)
}

/// Others run on this machine, too, and may be what an answer waits for: what holds
/// once of three times is no matter of theirs.
#[test]
fn no_answer_is_wrong_and_none_is_late() {
    let name = "adopted Redis";
    let Some(live) = machine(name) else { return };
    if !is_possible(name, live.thp_serves()) || !needs::programs(name, &["redis-server"]) {
        return;
    }
    let mut figures = Vec::new();
    for _ in 0..3 {
        let dir = tempfile::tempdir().unwrap();
        let (server, mut client) = start(dir.path());
        let begun = Instant::now();
        let before = client.ask(|| begun.elapsed() > Duration::from_secs(5));
        let done = AtomicBool::new(false);
        let (during, found) = std::thread::scope(|scope| {
            let asking = scope.spawn(|| client.ask(|| done.load(Ordering::Acquire)));
            let found = document(&["--pid", &server.0.id().to_string()]);
            done.store(true, Ordering::Release);
            (asking.join().unwrap(), found)
        });
        let process = only(&found);
        assert!(share(process) >= 0.9, "{found:#}");
        figures.push((before, during, process["seconds"].clone()));
        if during <= before + LATER {
            return;
        }
    }
    panic!("the slowest answers before and during: {figures:?}");
}
