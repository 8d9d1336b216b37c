//! The tree that is installed from: its own files, and those that were built.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;
use crate::run;

/// Where files come from.
#[derive(Debug, Clone)]
pub struct Tree {
    /// The tree itself.
    pub source: PathBuf,
    /// The directory of the built programs and libraries.
    pub built: PathBuf,
}

impl Tree {
    /// The tree that this program was built in, which is built where `from` does
    /// not say that it has been.
    ///
    /// # Errors
    /// When it cannot be built, or has not been.
    pub fn prepare(from: Option<&Path>) -> Result<Tree, Failure> {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
        let source = crates.and_then(Path::parent).unwrap_or(Path::new("/"));
        if !source.join("man").is_dir() {
            return Err(Failure::of(
                source,
                "the tree that this was built in is not there any more",
            )
            .next("cargo build --release --workspace where it is now, then this again"));
        }
        let built = match from {
            Some(dir) => dir.to_owned(),
            None => build(source)?,
        };
        let tree = Tree {
            source: source.to_owned(),
            built,
        };
        let last = tree.built.join("libhugetlbfs_heap.so");
        match last.exists() {
            true => Ok(tree),
            false => {
                Err(Failure::of(&last, "not built")
                    .next("cargo build --release --workspace builds it"))
            }
        }
    }

    /// The path of a file of the tree.
    pub fn path(&self, name: &str) -> PathBuf {
        self.source.join(name)
    }

    /// The version that Cargo.toml gives.
    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

/// Builds for release; where that is.
fn build(source: &Path) -> Result<PathBuf, Failure> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(source)
        .args(["build", "--quiet", "--release", "--workspace", "--locked"]);
    run::done(&mut cargo).map_err(|failure| {
        failure.next("cargo build --release --workspace, then --from target/release")
    })?;
    // This program was built for release, too, or is told where that is.
    let own = std::env::current_exe().map_err(|error| Failure::new(error.to_string()))?;
    let target = own.parent().and_then(Path::parent);
    Ok(target.unwrap_or(source).join("release"))
}
