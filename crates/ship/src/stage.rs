//! Writes files below a root. Each appears by rename, so a program that starts meanwhile loads
//! either the old or the new file.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::layout::{Contents, Item};
use crate::tree::Tree;

/// Maps an absolute path to a path below `root`.
pub fn below(root: &Path, path: &Path) -> PathBuf {
    root.join(path.strip_prefix("/").unwrap_or(path))
}

/// Writes one file or link, with its mode.
pub fn write_item(tree: &Tree, root: &Path, item: &Item) -> Result<(), Failure> {
    let path = below(root, &item.path);
    let fail = |error: std::io::Error| Failure::of(&path, error);
    let dir = path.parent().unwrap_or(root);
    make_dirs(dir)?;
    let mut new = path.clone().into_os_string();
    new.push(".hugetools-new");
    let new = PathBuf::from(new);
    let _ = fs::remove_file(&new);
    let copy = |from: &Path| match fs::copy(from, &new) {
        Ok(_) => Ok(()),
        Err(error) => Err(Failure::of(from, error)),
    };
    match &item.contents {
        Contents::Built(name) => copy(&tree.built.join(name))?,
        Contents::Library(bytes) => fs::write(&new, bytes).map_err(fail)?,
        Contents::Tree(name) => copy(&tree.path(name))?,
        Contents::Link(to) => symlink(to, &new).map_err(fail)?,
        Contents::Text(text) => fs::write(&new, text).map_err(fail)?,
    }
    if !matches!(item.contents, Contents::Link(_)) {
        fs::set_permissions(&new, Permissions::from_mode(item.mode)).map_err(fail)?;
    }
    fs::rename(&new, &path).map_err(fail)
}

/// Creates a directory and its parents with mode 0755, independent of the umask.
fn make_dirs(dir: &Path) -> Result<(), Failure> {
    let missing = dir.ancestors().take_while(|dir| !dir.exists());
    let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    missing.reverse();
    for dir in &missing {
        fs::create_dir(dir)
            .and_then(|()| fs::set_permissions(dir, Permissions::from_mode(0o755)))
            .map_err(|error| Failure::of(dir, error))?;
    }
    Ok(())
}
