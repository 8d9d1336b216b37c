//! Builds packages of each kind that this machine has tools for.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::tree::Tree;
use crate::{deb, rpm, run};

/// A kind of package, a program needed to build it, the program's package, and the
/// build function.
type Kind = (
    &'static str,
    &'static str,
    &'static str,
    fn(&Tree, &Path) -> Result<Vec<PathBuf>, Failure>,
);

const KINDS: [Kind; 2] = [
    ("deb", "dpkg-shlibdeps", "dpkg-dev", deb::make),
    ("rpm", "rpmbuild", "rpm", rpm::make),
];

/// Builds packages and returns a list of them. Without names, builds every kind whose
/// tools are installed, and names the missing tools of the others.
pub fn make(tree: &Tree, named: &[String], output: Option<PathBuf>) -> Result<String, Failure> {
    let target = tree.built.parent().map(|target| target.join("packages"));
    let output = output.or(target).unwrap_or_else(|| "packages".into());
    let is_named = |kind: &Kind| named.iter().any(|name| name == kind.0);
    let (here, missing): (Vec<&Kind>, Vec<&Kind>) = KINDS
        .iter()
        .filter(|kind| named.is_empty() || is_named(kind))
        .partition(|kind| is_named(kind) || run::has(kind.1));
    if here.is_empty() {
        let missing: Vec<&str> = missing.iter().map(|kind| kind.1).collect();
        let missing = missing.join(" or ");
        let failure = Failure::new(format!("cannot find {missing}"));
        return Err(failure.next(format!("install {}", KINDS.map(|kind| kind.2).join(" or "))));
    }
    std::fs::create_dir_all(&output).map_err(|error| Failure::of(&output, error))?;
    let mut made = String::new();
    for (_, _, _, make) in here {
        for path in make(tree, &output)? {
            let _ = writeln!(made, "{}", path.display());
        }
    }
    for (kind, maker, _, _) in missing {
        let _ = writeln!(made, "no {kind}: {maker} is not installed");
    }
    Ok(made)
}
