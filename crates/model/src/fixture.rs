//! Recorded machines: text archives that `hugeadm --bug-report` writes. A line is one of
//!
//! ```text
//! # comment
//! /path = VALUE            a file of one line
//! /path <<EOF              a file of several lines, up to a line EOF
//! /path [empty]            an empty file
//! /path [wo]               a file that can only be written
//! ```
//!
//! **Invariants.** hugeadm prints the same on an unpacked archive as on the recorded machine, except
//! for the names of mount points.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// One file of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its absolute path.
    pub path: &'a str,
    /// The contents.
    pub text: String,
    /// Whether the file is write-only.
    pub write_only: bool,
}

/// Returns the files of an archive, in its order.
pub fn parse(archive: &str) -> Result<Vec<Entry<'_>>, String> {
    let mut entries = Vec::new();
    let mut lines = archive.lines();
    while let Some(line) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let invalid = || format!("invalid line {line:?}");
        let (path, rest) = line.split_once(' ').ok_or_else(invalid)?;
        let text = match rest {
            "[wo]" | "[empty]" => String::new(),
            "<<EOF" => here_document(&mut lines).ok_or_else(invalid)?,
            _ => format!("{}\n", rest.strip_prefix("= ").ok_or_else(invalid)?),
        };
        if !path.starts_with('/') {
            return Err(invalid());
        }
        entries.push(Entry {
            path,
            text,
            write_only: rest == "[wo]",
        });
    }
    Ok(entries)
}

fn here_document<'a>(lines: &mut impl Iterator<Item = &'a str>) -> Option<String> {
    let mut text = String::new();
    loop {
        match lines.next()? {
            "EOF" => return Some(text),
            line => {
                text.push_str(line);
                text.push('\n');
            }
        }
    }
}

/// Creates the files of an archive below a directory.
pub fn unpack(archive: &str, dir: &Path) -> io::Result<()> {
    for entry in parse(archive).map_err(io::Error::other)? {
        let path = dir.join(entry.path.trim_start_matches('/'));
        fs::create_dir_all(path.parent().unwrap_or(dir))?;
        let mode = if entry.write_only { 0o200 } else { 0o644 };
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(path)?;
        file.write_all(entry.text.as_bytes())?;
    }
    Ok(())
}
