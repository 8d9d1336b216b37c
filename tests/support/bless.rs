//! Files of the project: paths, contents, and a comparison with expected texts.
//! `HUGETOOLS_BLESS=1` rewrites expected texts instead; review them with `git diff`.
#![expect(clippy::disallowed_methods, reason = "tests read files of the project")]

use std::fs;
use std::path::{Path, PathBuf};

/// Returns a path below the project's directory.
pub(crate) fn project(path: impl AsRef<Path>) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Returns the text of a project file; empty if it is missing.
pub(crate) fn read_text(path: impl AsRef<Path>) -> String {
    fs::read_to_string(project(path)).unwrap_or_default()
}

/// Compares a text with a project file, or rewrites the file. The error is the first difference.
pub(crate) fn compare(path: impl AsRef<Path>, actual: &str) -> Result<(), String> {
    let path = path.as_ref();
    if std::env::var_os("HUGETOOLS_BLESS").is_some() {
        fs::create_dir_all(project(path).parent().unwrap()).unwrap();
        fs::write(project(path), actual).unwrap();
        return Ok(());
    }
    let expected = read_text(path);
    if expected == actual {
        return Ok(());
    }
    let lines = expected.lines().count().max(actual.lines().count());
    let mut pairs = (0..lines).map(|n| (n + 1, expected.lines().nth(n), actual.lines().nth(n)));
    let (n, expected, actual) = pairs
        .find(|(_, expected, actual)| expected != actual)
        .unwrap_or((lines, None, None));
    let the_end = "(the end)";
    Err(format!(
        "{} differs (HUGETOOLS_BLESS=1 writes it)\nline {n}\n  expected {}\n  actual   {}\n",
        path.display(),
        expected.unwrap_or(the_end),
        actual.unwrap_or(the_end)
    ))
}
