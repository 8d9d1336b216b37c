//! Copies of recorded machines, and their changes.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hugetools_model::fixture;
use tempfile::TempDir;

use super::bless;

/// Returns the names of all recorded machines, one per file.
pub(crate) fn machines() -> Vec<String> {
    let files = fs::read_dir(bless::project("tests/fixtures")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| name.strip_suffix(".tree").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Returns a fresh copy of a recorded machine.
pub(crate) fn machine(name: &str) -> TempDir {
    let archive = bless::read_text(format!("tests/fixtures/{name}.tree"));
    assert!(!archive.is_empty(), "there is no machine {name}");
    let dir = scratch();
    fixture::unpack(&archive, dir.path()).unwrap();
    dir
}

/// Returns the text of a file in a tree.
pub(crate) fn text(path: &Path) -> String {
    String::from_utf8(contents(path)).unwrap()
}

/// Overwrites a file in a tree.
pub(crate) fn write(path: &Path, text: &str) {
    let file = fs::OpenOptions::new().write(true).truncate(true).open(path);
    std::io::Write::write_all(&mut file.unwrap(), text.as_bytes()).unwrap();
}

/// Returns a temporary directory, in memory if possible: tests create thousands of files.
fn scratch() -> TempDir {
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

/// All files and directories of a tree: mode, and a file's contents.
pub(crate) type Snapshot = BTreeMap<String, (u32, Option<Vec<u8>>)>;

pub(crate) fn snapshot(dir: &Path) -> Snapshot {
    let mut all = Snapshot::new();
    walk(dir, "", &mut all);
    all
}

fn walk(dir: &Path, path: &str, all: &mut Snapshot) {
    for entry in with_rights(dir, 0o500, |dir| fs::read_dir(dir)) {
        let entry = entry.unwrap();
        let path = format!("{path}/{}", entry.file_name().to_str().unwrap());
        let found = entry.metadata().unwrap();
        let mode = found.permissions().mode() & 0o7777;
        if found.is_dir() {
            walk(&entry.path(), &path, all);
            all.insert(path + "/", (mode, None));
        } else {
            all.insert(path, (mode, Some(contents(&entry.path()))));
        }
    }
}

/// Returns the contents of a file, even of a write-only one, or the target of a link.
fn contents(path: &Path) -> Vec<u8> {
    if let Ok(target) = fs::read_link(path) {
        return target.into_os_string().into_encoded_bytes();
    }
    with_rights(path, 0o400, |path| {
        let mut file = fs::OpenOptions::new().read(true).open(path)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    })
}

/// Calls a function on a file or directory. If it fails, adds permissions to the mode for a
/// second call: unlike root, an ordinary owner needs them.
fn with_rights<T>(path: &Path, rights: u32, look: impl Fn(&Path) -> io::Result<T>) -> T {
    look(path).unwrap_or_else(|_| {
        let mode = fs::metadata(path).unwrap().permissions().mode();
        let set = |mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        set(mode | rights);
        let found = look(path).unwrap();
        set(mode);
        found
    })
}

/// Returns the difference of two snapshots, one line per path.
pub(crate) fn difference(before: &Snapshot, after: &Snapshot) -> Vec<String> {
    let mut paths: Vec<&String> = before.keys().chain(after.keys()).collect();
    paths.sort();
    paths.dedup();
    let line = |path: &String| match (before.get(path), after.get(path)) {
        (Some(old), Some(new)) if old == new => None,
        (Some((_, old)), Some((_, new))) => Some(format!("{path}: {} -> {}", show(old), show(new))),
        (None, Some((mode, _))) => Some(format!("{path} made, mode {mode:04o}")),
        (_, None) => Some(format!("{path} gone")),
    };
    paths.into_iter().filter_map(line).collect()
}

fn show(bytes: &Option<Vec<u8>>) -> String {
    let bytes = bytes.as_deref().unwrap_or_default();
    String::from_utf8_lossy(bytes).trim_end().to_owned()
}
