//! All tables of known programs: the user's, the machine's, and those that come with
//! hugectl. The first entry that fits a program counts.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use super::entry::{Done, Entry, Inside, Part, Reach, Table, Takes, Word};
use crate::caller::Caller;
use crate::files;

/// The tables that come with hugectl, which the build script has read.
static BUILT_IN: &[Entry] = include!(concat!(env!("OUT_DIR"), "/programs.rs"));

/// The machine's own.
const OF_MACHINE: &str = "/etc/hugetools/programs.d";

/// The user's own, below the directory of settings.
const OF_USER: &str = "hugetools/programs.d";

/// No table is longer.
const LONGEST: u64 = 1 << 20;

/// The entries of all tables.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    /// Of the user and of the machine.
    others: Vec<Entry>,
    /// What of the tables cannot be used, with path and reason.
    pub(super) faults: Vec<String>,
}

impl Catalog {
    /// Reads them.
    pub(super) fn read(caller: &Caller) -> Catalog {
        let mut catalog = Catalog::default();
        for dir in directories(caller) {
            catalog.add(&dir);
        }
        catalog
    }

    /// All entries, in the order in which they count.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.others.iter().chain(BUILT_IN)
    }

    /// Reads the tables in a directory, in the order of their names.
    fn add(&mut self, dir: &Path) {
        let mut files = match list(dir) {
            Ok(files) => files,
            Err(why) => return self.faults.push(format!("{}: {why}", dir.display())),
        };
        files.sort();
        for file in files {
            match table(&file) {
                Ok(table) => self.others.extend(table.program),
                Err(why) => self.faults.push(format!("{}: {why}", file.display())),
            }
        }
    }
}

/// Where tables may be, those that count first in front.
fn directories(caller: &Caller) -> Vec<PathBuf> {
    let is_absolute = |path: &PathBuf| path.is_absolute();
    let dir = |name: &str| caller.var(name).map(PathBuf::from).filter(is_absolute);
    let settings = dir("XDG_CONFIG_HOME").or_else(|| Some(dir("HOME")?.join(".config")));
    let of_user = settings.map(|settings| settings.join(OF_USER));
    of_user.into_iter().chain([OF_MACHINE.into()]).collect()
}

/// The tables in a directory; none where there is no directory.
fn list(dir: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        // What is somebody else's holds nothing of this user's.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let paths = entries.map(|entry| entry.map(|entry| entry.path()));
    let is_table = |path: &PathBuf| path.extension() == Some(OsStr::new("toml"));
    paths
        .filter(|path| path.as_ref().map_or(true, is_table))
        .collect()
}

fn table(file: &Path) -> Result<Table, String> {
    let (opened, _) = files::open_regular(file).map_err(|error| error.to_string())?;
    let mut text = String::new();
    let read = opened.take(LONGEST).read_to_string(&mut text);
    read.map_err(|error| error.to_string())?;
    // Its message has the line and what stands there, on lines of their own.
    let parsed: Result<Table, toml::de::Error> = toml::from_str(&text);
    let table = parsed.map_err(|error| place(&error, &text))?;
    table.check().map(|()| table)
}

/// What is wrong, in one line, with the number of the line that it is in.
fn place(error: &toml::de::Error, text: &str) -> String {
    let message = error.message();
    match error.span().and_then(|span| text.get(..span.start)) {
        Some(before) => format!("line {}: {message}", before.matches('\n').count() + 1),
        None => message.to_owned(),
    }
}
