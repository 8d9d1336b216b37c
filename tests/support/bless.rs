//! Expected texts. `HUGETOOLS_BLESS=1` rewrites them instead of comparing; see `git diff`.
#![expect(clippy::disallowed_methods, reason = "tests read their own files")]

use std::fs;
use std::path::{Path, PathBuf};

/// Returns a path below the project's directory.
pub(crate) fn project(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the text of a project file; empty if it is missing.
pub(crate) fn text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(project(path)).unwrap_or_default()
}

/// Compares a text with a project file, or rewrites the file. Returns the first difference.
pub(crate) fn compare(path: impl AsRef<Path>, now: &str) -> Result<(), String> {
    let path = path.as_ref();
    if std::env::var_os("HUGETOOLS_BLESS").is_some() {
        fs::create_dir_all(project(path).parent().unwrap()).unwrap();
        fs::write(project(path), now).unwrap();
        return Ok(());
    }
    let before = text(path);
    if before == now {
        return Ok(());
    }
    let lines = before.lines().count().max(now.lines().count());
    let mut pairs = (0..lines).map(|n| (n + 1, before.lines().nth(n), now.lines().nth(n)));
    let (n, before, now) = pairs
        .find(|(_, before, now)| before != now)
        .unwrap_or((lines, None, None));
    let the_end = "(the end)";
    Err(format!(
        "{} differs (HUGETOOLS_BLESS=1 writes it)\nline {n}\n  expected {}\n  now      {}\n",
        path.display(),
        before.unwrap_or(the_end),
        now.unwrap_or(the_end)
    ))
}
