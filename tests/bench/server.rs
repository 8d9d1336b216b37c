//! A Redis server on a socket of its own, with `redis-benchmark`.

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::outcome::Outcome;
use super::prepare;
use super::watch::Watched;

/// Timeout of the start.
const START: Duration = Duration::from_secs(20);

/// Starts a server by a command that ends with its name, and lets the client run. The memory
/// is the server's, the time the client's.
pub(crate) fn run(mut command: Command, look: bool, thousands: u64) -> Result<Outcome, String> {
    let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
    let socket = dir.path().join("socket");
    let socket = socket.to_str().unwrap_or_default();
    command.current_dir(dir.path());
    command.args(["--port", "0", "--save", "", "--daemonize", "no"]);
    command.args(["--logfile", "log", "--unixsocket", socket]);
    let server = Watched::start(command, look)?;
    let seconds = wait(socket).and_then(|()| load(socket, thousands));
    match (seconds, ask(socket, &["shutdown", "nosave"])) {
        (Ok(seconds), true) => Ok(Outcome {
            seconds,
            ..server.finish()?
        }),
        (seconds, _) => {
            server.kill();
            Err(seconds
                .err()
                .unwrap_or_else(|| "it did not shut down".to_owned()))
        }
    }
}

fn ask(socket: &str, words: &[&str]) -> bool {
    let mut client = prepare::clean("redis-cli");
    let output = client.args(["-s", socket]).args(words).output();
    output.is_ok_and(|output| output.status.success())
}

fn wait(socket: &str) -> Result<(), String> {
    let since = Instant::now();
    while !ask(socket, &["ping"]) {
        if since.elapsed() > START {
            return Err("redis-server does not answer".to_owned());
        }
        thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn load(socket: &str, thousands: u64) -> Result<f64, String> {
    let requests = (thousands * 1000).to_string();
    let keys = (thousands * 400).to_string();
    let started = Instant::now();
    let mut client = prepare::clean("redis-benchmark");
    client.args(["-s", socket, "-q", "-t", "set,get", "-P", "8", "-c", "20"]);
    client.args(["-d", "1000", "-n", &requests, "-r", &keys]);
    match client.output() {
        Ok(output) if output.status.success() => Ok(started.elapsed().as_secs_f64()),
        Ok(output) => Err(format!("redis-benchmark: {}", output.status)),
        Err(error) => Err(format!("redis-benchmark: {error}")),
    }
}
