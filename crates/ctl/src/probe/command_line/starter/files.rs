//! What files of starters say: the environment of a cluster of PostgreSQL, as
//! Debian has them, scripts, and sockets of servers.

use std::ffi::OsString;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{Scene, command};
use crate::files;
use crate::say::shortfall::Remedy;
use crate::shell;

/// So much of a file is read.
const MOST: u64 = 1 << 20;

/// What does instead of `pg_ctlcluster`; `None` where the files of these clusters
/// have the library already.
pub(super) fn postgresql(scene: &Scene<'_>, clusters: &[[String; 2]]) -> Option<Remedy> {
    let file = |[version, cluster]: &[String; 2]| {
        let dir = scene.start.etc.join("postgresql").join(version);
        dir.join(cluster).join("environment")
    };
    let library = scene.start.library.map(OsStrExt::as_bytes);
    let has_it = |path: &Path| library.is_some_and(|library| preloads(path, library));
    let missing = clusters.iter().map(file).find(|file| !has_it(file))?;
    // The server is no process of hugectl's that could be reported on.
    let words = scene.start.hugectl.iter();
    let words = words.filter(|word| !word.as_bytes().starts_with(b"--report"));
    let mut words: Vec<OsString> = words.cloned().collect();
    words.insert(1, "--dry-run".into());
    let (hugectl, file) = (shell::line(words), shell::line([missing]));
    Some(command(
        "instead, start the server without hugectl after this (once hugetools is installed, \
         hugectl --emit=environment prints lines that outlive a reboot)",
        format!("{hugectl} | grep \"='\" >>{file}"),
    ))
}

/// Whether such a file has a library in `LD_PRELOAD`.
fn preloads(path: &Path, library: &[u8]) -> bool {
    let text = read(path);
    let lines = text.split(|byte| *byte == b'\n');
    let mut values = lines.filter_map(|line| line.strip_prefix(b"LD_PRELOAD"));
    values.any(|value| holds(value, library))
}

/// Version and cluster in the arguments of `pg_ctlcluster`: `15 main start` or
/// `15-main start`.
pub(super) fn cluster(words: &[OsString]) -> [String; 2] {
    let text = |word: &OsString| word.to_string_lossy().into_owned();
    let mut plain = words.iter().skip(1).map(text);
    let first = plain.find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
    let Some(first) = first else {
        return ["VERSION".to_owned(), "CLUSTER".to_owned()];
    };
    match first.split_once('-') {
        Some((version, cluster)) => [version.to_owned(), cluster.to_owned()],
        None => [first, plain.next().unwrap_or("CLUSTER".to_owned())],
    }
}

/// All clusters of this machine.
pub(super) fn clusters(etc: &Path) -> Vec<[String; 2]> {
    let dir = etc.join("postgresql");
    let of = |version: String| {
        let clusters = names(&dir.join(&version)).into_iter();
        clusters.map(move |name| [version.clone(), name])
    };
    names(&dir).into_iter().flat_map(of).collect()
}

/// The names in a directory, sorted; none where it cannot be read.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Whether a line of a file holds this, which is no comment.
pub(super) fn has_line_with(path: &Path, what: &[u8]) -> bool {
    let text = read(path);
    let lines = text.split(|byte| *byte == b'\n');
    let mut lines = lines.map(<[u8]>::trim_ascii_start);
    lines.any(|line| !line.starts_with(b"#") && holds(line, what))
}

/// Whether a server listens on a socket.
pub(super) fn answers(socket: &Path) -> bool {
    UnixStream::connect(socket).is_ok()
}

fn holds(text: &[u8], what: &[u8]) -> bool {
    text.windows(what.len()).any(|window| window == what)
}

/// What is in a file; nothing where it cannot be read.
fn read(path: &Path) -> Vec<u8> {
    let mut text = Vec::new();
    let file = files::open_regular(path).map(|(file, _)| file.take(MOST));
    match file.and_then(|mut file| file.read_to_end(&mut text)) {
        Ok(_) => text,
        Err(_) => Vec::new(),
    }
}
