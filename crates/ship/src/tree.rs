//! The source tree and its build results.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::run;

/// Sources of installed files.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The source tree.
    pub source: PathBuf,
    /// The directory of build results.
    pub built: PathBuf,
}

impl Tree {
    /// Returns the tree that contains this program (possibly a copy), else the tree it was built
    /// from. Builds it unless `from` has the build results.
    pub fn prepare(from: Option<&Path>) -> Result<Tree, Failure> {
        let own = std::env::current_exe().map_err(|error| Failure::new(error.to_string()))?;
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        let of_build = crates.and_then(Path::parent).unwrap_or(Path::new("/"));
        let around = own.ancestors().find(|dir| dir.join("crates/ship").is_dir());
        let source = around.unwrap_or(of_build);
        if !source.join("man").is_dir() {
            return Err(Failure::of(
                source,
                "this program was built from a source tree that no longer exists",
            )
            .advise(
                "run cargo build --release --workspace in the present source tree, then try again",
            ));
        }
        let built = match from {
            Some(dir) => dir.to_owned(),
            None => build(source, &own)?,
        };
        let tree = Tree {
            source: source.to_owned(),
            built,
        };
        let last = tree.built.join("hugectl");
        match last.exists() {
            true => Ok(tree),
            false => Err(Failure::of(&last, "not built")
                .advise("cargo build --release --workspace builds it")),
        }
    }

    /// Returns the path of a file in the source tree.
    pub fn path(&self, name: &str) -> PathBuf {
        self.source.join(name)
    }

    /// Returns the version in Cargo.toml.
    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

/// Builds in release mode and returns the directory of the results.
fn build(source: &Path, own: &Path) -> Result<PathBuf, Failure> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(source)
        .args(["build", "--quiet", "--release", "--workspace", "--locked"]);
    run::output_of(&mut cargo).map_err(|failure| {
        failure.advise("cargo build --release --workspace, then --from target/release")
    })?;
    // This program was built into the same target directory.
    let target = own.parent().and_then(Path::parent);
    Ok(target.unwrap_or(source).join("release"))
}
