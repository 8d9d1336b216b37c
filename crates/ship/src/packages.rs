//! Builds packages of each kind that this machine has tools for.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::tree::Tree;
use crate::{deb, rpm, run};

/// A kind of package, a program needed to build it, and the build function.
type Kind = (
    &'static str,
    &'static str,
    fn(&Tree, &Path) -> Result<Vec<PathBuf>, Failure>,
);

const KINDS: [Kind; 2] = [
    ("deb", "dpkg-shlibdeps", deb::make),
    ("rpm", "rpmbuild", rpm::make),
];

/// Builds packages of every kind whose tools are installed. Returns a list of them and of missing
/// tools.
pub fn make(tree: &Tree, output: Option<PathBuf>) -> Result<String, Failure> {
    let target = tree.built.parent().map(|target| target.join("packages"));
    let output = output.or(target).unwrap_or_else(|| "packages".into());
    std::fs::create_dir_all(&output).map_err(|error| Failure::of(&output, error))?;
    let (mut made, mut missing) = (String::new(), String::new());
    for (kind, maker, make) in KINDS {
        if !run::has(maker) {
            let _ = writeln!(missing, "no {kind}: {maker} is not installed");
            continue;
        }
        for path in make(tree, &output)? {
            let _ = writeln!(made, "{}", path.display());
        }
    }
    match made.is_empty() {
        true => Err(Failure::new(missing.trim_end())),
        false => Ok(made + &missing),
    }
}
