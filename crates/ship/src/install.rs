//! Installs and uninstalls without packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use nix::unistd::{AccessFlags, access};

use crate::args::Destination;
use crate::failure::Failure;
use crate::layout::{self, Contents, Dirs, Item, Part};
use crate::manifest::Manifest;
use crate::run;
use crate::stage::{below, write_item};
use crate::tree::Tree;

/// Installs and returns a summary for the user.
pub fn install(tree: &Tree, place: &Destination) -> Result<String, Failure> {
    let root = root(place)?;
    let prefix = absolute(&place.prefix)?;
    let old = Manifest::read(&root, &prefix)?;
    let dirs = Dirs {
        prefix: prefix.clone(),
        libdir: place.libdir.clone(),
        zsh: "zsh/site-functions",
        loader_searches_libdir: prefix == Path::new("/usr"),
    };
    let items = layout::items(tree, &dirs)?;
    if !place.force {
        refuse_foreign_files(&root, &items, &old)?;
    }
    let new = new_manifest(&root, &prefix, &items, &old);
    remove_outdated(&root, &old, &new);
    let list = Item {
        part: Part::Run,
        path: Manifest::path(&prefix),
        mode: 0o644,
        contents: Contents::Text(new.to_text()),
    };
    // The list is written first, so that an interrupted installation can be uninstalled.
    for item in std::iter::once(&list).chain(&items) {
        write_item(tree, &root, item)?;
    }
    refresh_cache(place)?;
    Ok(format!(
        "installed {} files below {}\n{}",
        new.files.len(),
        below(&root, &prefix).display(),
        hints(&prefix, &prefix.join(&place.libdir)),
    ))
}

/// Rebuilds the cache of glibc's loader after a change of the running system. musl has none.
fn refresh_cache(place: &Destination) -> Result<(), Failure> {
    let is_live = place.destdir.is_none() && nix::unistd::geteuid().is_root();
    match is_live && Path::new("/etc/ld.so.conf.d").is_dir() && run::has("ldconfig") {
        true => run::output_of(&mut Command::new("ldconfig")).map(|_| ()),
        false => Ok(()),
    }
}

/// Fails if this user has no write permission below the prefix.
pub fn check_writable(place: &Destination) -> Result<(), Failure> {
    let dir = below(&root(place)?, &absolute(&place.prefix)?);
    let nearest = dir.ancestors().find(|dir| dir.exists());
    let nearest = nearest.unwrap_or(Path::new("/"));
    access(nearest, AccessFlags::W_OK).map_err(|errno| {
        Failure::of(nearest, errno.desc())
            .advise("as root: target/release/hugetools-ship COMMAND --from target/release")
    })
}

/// Uninstalls and returns a summary for the user.
pub fn uninstall(place: &Destination) -> Result<String, Failure> {
    let root = root(place)?;
    let prefix = absolute(&place.prefix)?;
    let manifest = Manifest::read(&root, &prefix)?;
    if manifest.files.is_empty() {
        let list = below(&root, &Manifest::path(&prefix));
        return Err(
            Failure::of(&list, "no such file: nothing was installed by this program")
                .advise("--prefix names the prefix of the installation"),
        );
    }
    manifest.remove(&root)?;
    refresh_cache(place)?;
    let count = manifest.files.len();
    let dir = below(&root, &prefix);
    Ok(format!("removed {count} files from {}\n", dir.display()))
}

fn root(place: &Destination) -> Result<PathBuf, Failure> {
    absolute(place.destdir.as_deref().unwrap_or(Path::new("/")))
}

fn absolute(prefix: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(prefix).map_err(|error| Failure::of(prefix, error))
}

/// Fails if a file that this program didn't install exists at one of the paths.
fn refuse_foreign_files(root: &Path, items: &[Item], old: &Manifest) -> Result<(), Failure> {
    let ours: BTreeSet<&PathBuf> = old.files.iter().collect();
    let foreign = items.iter().find(|item| {
        !ours.contains(&item.path) && fs::symlink_metadata(below(root, &item.path)).is_ok()
    });
    match foreign {
        None => Ok(()),
        Some(item) => Err(Failure::of(
            &below(root, &item.path),
            "exists already and was not installed by this program",
        )
        .advise("--force replaces it; --prefix selects another directory")),
    }
}

/// Lists the new installation's files, and the directories made by it and earlier ones.
fn new_manifest(root: &Path, prefix: &Path, items: &[Item], old: &Manifest) -> Manifest {
    let mut new = old.clone();
    new.files = items.iter().map(|item| item.path.clone()).collect();
    new.files.push(Manifest::path(prefix));
    let parents = new.files.iter().filter_map(|path| path.parent());
    let dirs = parents.flat_map(Path::ancestors);
    let missing = dirs.filter(|dir| !below(root, dir).exists());
    new.dirs.extend(missing.map(Path::to_owned));
    for paths in [&mut new.files, &mut new.dirs] {
        paths.sort();
        paths.dedup();
    }
    new
}

/// Removes files of an older installation that the new one lacks.
fn remove_outdated(root: &Path, old: &Manifest, new: &Manifest) {
    let mut gone = old.clone();
    gone.files.retain(|path| !new.files.contains(path));
    gone.dirs.clear();
    // A failure doesn't matter: the new manifest no longer lists the file.
    let _ = gone.remove(root);
}

fn hints(prefix: &Path, lib: &Path) -> String {
    let (prefix, lib) = (prefix.display(), lib.display());
    format!(
        "  link with: cc … $(PKG_CONFIG_PATH={lib}/pkgconfig pkg-config --libs hugetlbfs)\n  \
         or: cc -B{prefix}/share/libhugetlbfs -Wl,--hugetlbfs-align …\n  \
         completions in fish, where XDG_DATA_DIRS lacks {prefix}/share: \
         ln -s {prefix}/share/fish/vendor_completions.d/* /etc/fish/completions\n"
    )
}
