//! A Redis server of our own, on a socket of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::outcome::Outcome;
use super::watch::Watched;

/// How long a server may take to start.
const START: Duration = Duration::from_secs(20);

/// A server.
pub(crate) struct Server {
    watched: Watched,
    socket: PathBuf,
    _dir: tempfile::TempDir,
}

impl Server {
    /// Starts a server by a command that ends in its name.
    pub(crate) fn start(mut command: Command, look: bool) -> Result<Server, String> {
        let dir = tempfile::tempdir().map_err(|error| error.to_string())?;
        let socket = dir.path().join("socket");
        command.current_dir(dir.path());
        command.args([
            "--port",
            "0",
            "--save",
            "",
            "--daemonize",
            "no",
            "--logfile",
            "log",
        ]);
        command.arg("--unixsocket").arg(&socket);
        let server = Server {
            watched: Watched::start(command, look)?,
            socket,
            _dir: dir,
        };
        match server.wait() {
            Ok(()) => Ok(server),
            Err(why) => {
                server.watched.kill();
                Err(why)
            }
        }
    }

    fn wait(&self) -> Result<(), String> {
        let until = Instant::now() + START;
        loop {
            match self.client().and_then(|mut client| client.ask(&["PING"])) {
                Ok(_) => return Ok(()),
                Err(why) if Instant::now() > until => return Err(format!("redis-server: {why}")),
                Err(_) => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// The path of its socket.
    pub(crate) fn socket(&self) -> &str {
        self.socket.to_str().unwrap_or_default()
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.watched.pid()
    }

    /// A connection.
    pub(crate) fn client(&self) -> Result<Client, String> {
        let stream = UnixStream::connect(&self.socket).map_err(|error| error.to_string())?;
        Ok(Client(BufReader::new(stream)))
    }

    /// Ends it.
    pub(crate) fn stop(self) -> Result<Outcome, String> {
        match self.client() {
            Ok(mut client) => {
                // It closes the connection instead of an answer.
                let _ = client.ask(&["SHUTDOWN", "NOSAVE"]);
                self.watched.finish()
            }
            Err(why) => {
                self.watched.kill();
                Err(why)
            }
        }
    }
}

/// A connection to a server.
pub(crate) struct Client(BufReader<UnixStream>);

impl Client {
    /// A request and its answer: a line, or the bytes of a string.
    pub(crate) fn ask(&mut self, words: &[&str]) -> Result<String, String> {
        let strings = words
            .iter()
            .map(|word| format!("${}\r\n{word}\r\n", word.len()));
        let request = format!("*{}\r\n{}", words.len(), strings.collect::<String>());
        let sent = self.0.get_mut().write_all(request.as_bytes());
        sent.map_err(|error| error.to_string())?;
        let mut line = String::new();
        let read = self
            .0
            .read_line(&mut line)
            .map_err(|error| error.to_string())?;
        if read == 0 {
            return Err("the server closed the connection".to_owned());
        }
        self.rest(line.trim_end())
    }

    fn rest(&mut self, line: &str) -> Result<String, String> {
        let (kind, rest) = line.split_at(1.min(line.len()));
        let length = rest.parse::<usize>().ok();
        match (kind, length) {
            ("-", _) => Err(rest.to_owned()),
            ("$", Some(length)) => {
                let mut bytes = vec![0; length + 2];
                self.0
                    .read_exact(&mut bytes)
                    .map_err(|error| error.to_string())?;
                bytes.truncate(length);
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => Ok(rest.to_owned()),
        }
    }

    /// A line of what `INFO` says.
    pub(crate) fn info(&mut self, section: &str, name: &str) -> Result<String, String> {
        let all = self.ask(&["INFO", section])?;
        let mut pairs = all.lines().filter_map(|line| line.split_once(':'));
        let found = pairs.find(|&(key, _)| key == name);
        found
            .map(|(_, value)| value.to_owned())
            .ok_or_else(|| format!("INFO {section} has no {name}"))
    }
}
