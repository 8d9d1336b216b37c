//! Recorded machines. `tests/fixtures/record.sh` writes each as one text archive and
//! describes the format.
//!
//! **Invariants.** Parsing and writing an archive reproduces it.

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
///
/// # Errors
/// The first invalid line.
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
///
/// # Errors
/// The archive is invalid, or a file cannot be created.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_entry() {
        let archive = "# a machine\n/a/one = 1 \n/a/two <<EOF\nx\n\ny\nEOF\n/b [empty]\n/c [wo]\n";
        let entries = parse(archive).unwrap();
        let texts: Vec<_> = entries.iter().map(|e| (e.path, e.text.as_str())).collect();
        assert_eq!(
            texts,
            [
                ("/a/one", "1 \n"),
                ("/a/two", "x\n\ny\n"),
                ("/b", ""),
                ("/c", "")
            ]
        );
        assert!(entries[3].write_only);
    }

    #[test]
    fn invalid_archives_are_refused() {
        for archive in ["/a", "a = 1", "/a : 1", "/a <<EOF\nx\n"] {
            assert!(parse(archive).is_err(), "{archive}");
        }
    }

    #[test]
    fn unpacking_creates_the_files() {
        let dir = tempfile::tempdir().unwrap();
        unpack("/proc/x = 1\n/proc/y [wo]\n", dir.path()).unwrap();
        let root = crate::Root::at(dir.path()).unwrap();
        assert_eq!(root.read(&crate::KPath::from("/proc/x")).unwrap(), b"1\n");
        assert!(root.exists(&crate::KPath::from("/proc/y")));
    }
}
