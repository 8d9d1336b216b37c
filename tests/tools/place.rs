//! A directory with the tools installed, and its changes.
#![expect(clippy::disallowed_methods, reason = "tests read their own files")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

pub(super) use crate::support::tool::Ran as Done;
use crate::support::tool::{Run, copy, write};

/// A file's inode, mode and contents.
type Files = BTreeMap<String, (u64, u32, Vec<u8>)>;

/// The directory. `tools` has the tools and the library, `B` the links by which a
/// compiler finds ld.hugetlbfs, `made` the files of a test.
pub(super) struct Place(tempfile::TempDir);

impl Place {
    pub(super) fn new() -> Place {
        let place = Place(tempfile::tempdir().unwrap());
        fs::set_permissions(place.0.path(), Permissions::from_mode(0o755)).unwrap();
        for dir in ["tools", "B", "made"] {
            fs::create_dir(place.path(dir)).unwrap();
        }
        for (name, file) in [
            ("hugeedit", env!("CARGO_BIN_EXE_hugeedit")),
            ("ld.hugetlbfs", env!("CARGO_BIN_EXE_ld-hugetlbfs")),
            ("libhugetlbfs.so", env!("HUGETOOLS_PRELOAD")),
        ] {
            copy(file, place.path("tools").join(name));
        }
        for (target, link) in [
            ("libhugetlbfs.so", "tools/libhugetlbfs.so.0"),
            ("../tools/ld.hugetlbfs", "B/ld"),
            ("../tools/ld.hugetlbfs", "B/ld.bfd"),
            ("../tools/ld.hugetlbfs", "B/ld.gold"),
            ("../tools/ld.hugetlbfs", "B/ld.lld"),
        ] {
            symlink(target, place.path(link)).unwrap();
        }
        place
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Returns the path of a test's file.
    pub(super) fn work(&self, name: &str) -> PathBuf {
        self.path("made").join(name)
    }

    /// Writes a file that everybody can read and execute.
    pub(super) fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work(name);
        write(&path, contents.as_ref());
        fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
        path
    }

    /// Returns the contents of a file.
    pub(super) fn bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.work(name)).unwrap()
    }

    /// Returns the start of a file with all headers; some files are large.
    pub(super) fn head(&self, name: &str) -> Vec<u8> {
        let file = fs::File::open(self.work(name)).unwrap();
        let mut head = Vec::new();
        file.take(4096).read_to_end(&mut head).unwrap();
        head
    }

    /// Runs a line in `sh` in the directory of the test's files. The tools are in the
    /// path, and `PLACE` is the place's path.
    pub(super) fn shell(&self, line: &str) -> Done {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        command.current_dir(self.path("made")).env_clear();
        let tools = self.path("tools");
        let (_, path) = std::env::vars_os()
            .find(|(name, _)| name == "PATH")
            .unwrap();
        let dirs = std::iter::once(tools).chain(std::env::split_paths(&path));
        let sbin = ["/usr/sbin", "/sbin"].map(PathBuf::from);
        let path = std::env::join_paths(dirs.chain(sbin)).unwrap();
        command.env("PATH", path);
        command.env("PLACE", self.0.path());
        command.env("LC_ALL", "C").env("COLUMNS", "100");
        command.ran()
    }

    /// Runs a line that must succeed with empty standard error. Returns its output.
    pub(super) fn ok(&self, line: &str) -> String {
        let done = self.shell(line);
        assert_eq!(
            (done.status, done.err.as_str()),
            (0, ""),
            "{line}\n{}",
            done.out
        );
        done.out
    }

    /// Replaces the place's path by `DIR`.
    pub(super) fn neutral(&self, text: &str) -> String {
        text.replace(self.0.path().to_str().unwrap(), "DIR")
    }

    /// Returns all regular files of a test.
    pub(super) fn snapshot(&self) -> Files {
        let entries = fs::read_dir(self.path("made")).unwrap();
        let mut files = Files::new();
        for entry in entries.map(|entry| entry.unwrap()) {
            let found = fs::symlink_metadata(entry.path()).unwrap();
            if found.is_file() {
                let name = entry.file_name().into_string().unwrap();
                let contents = fs::read(entry.path()).unwrap();
                files.insert(name, (found.ino(), found.mode() & 0o7777, contents));
            }
        }
        files
    }
}

/// Returns the difference of two snapshots, one line per change.
pub(super) fn difference(before: &Files, after: &Files) -> String {
    let mut out = String::new();
    for (name, now) in after {
        match before.get(name) {
            None => writeln!(out, "+ {name}").unwrap(),
            Some(old) => out += &changes(name, old, now),
        }
    }
    for name in before.keys().filter(|name| !after.contains_key(*name)) {
        writeln!(out, "- {name}").unwrap();
    }
    out
}

fn changes(name: &str, old: &(u64, u32, Vec<u8>), now: &(u64, u32, Vec<u8>)) -> String {
    let mut out = String::new();
    if old.0 != now.0 {
        writeln!(out, "~ {name}: another file").unwrap();
    }
    if old.1 != now.1 {
        writeln!(out, "~ {name}: mode {:04o} -> {:04o}", old.1, now.1).unwrap();
    }
    if old.2.len() != now.2.len() {
        writeln!(out, "~ {name}: {} bytes -> {}", old.2.len(), now.2.len()).unwrap();
    }
    if old.2 == now.2 {
        return out;
    }
    for (at, (old, now)) in old.2.iter().zip(&now.2).enumerate() {
        if old != now {
            writeln!(out, "~ {name}: byte {at:#x}: {old:02x} -> {now:02x}").unwrap();
        }
    }
    out
}
