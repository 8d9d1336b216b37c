//! Packages of each kind that this machine can make.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::tree::Tree;
use crate::{deb, rpm, run};

/// A kind of package, the program that only its makers have, the package that has it,
/// and what makes it.
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

/// Makes packages, and says where they lie: of the kinds that are named, or else of
/// those whose maker is here; which one is not, it says, too.
///
/// # Errors
/// Where one of them cannot be made, or none is.
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
        let missing = missing.join(" nor ");
        let failure = Failure::new(format!("there is neither {missing}"));
        return Err(failure.next(format!(
            "install one: {} has it",
            KINDS.map(|kind| kind.2).join(" or ")
        )));
    }
    std::fs::create_dir_all(&output).map_err(|error| Failure::of(&output, error))?;
    let mut said = String::new();
    for (_, _, _, make) in here {
        for path in make(tree, &output)? {
            let _ = writeln!(said, "{}", path.display());
        }
    }
    for (kind, maker, _, _) in missing {
        let _ = writeln!(said, "no {kind}: there is no {maker}");
    }
    Ok(said)
}
