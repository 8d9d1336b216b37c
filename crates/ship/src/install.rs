//! Installs and uninstalls without packages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use nix::unistd::{AccessFlags, access};

use crate::args::Destination;
use crate::failure::Failure;
use crate::layout::{self, Contents, Dirs, Item, Part};
use crate::loader;
use crate::manifest::Manifest;
use crate::stage::{below, put};
use crate::text;
use crate::tree::Tree;

/// Installs and returns a summary for the user.
pub fn install(tree: &Tree, place: &Destination) -> Result<String, Failure> {
    let root = root(place)?;
    let prefix = absolute(&place.prefix)?;
    let lib = prefix.join(&place.libdir);
    let is_live = place.destdir.is_none() && nix::unistd::geteuid().is_root();
    let has_cache = is_live && loader::has_cache();
    let old = Manifest::read(&root, &prefix)?;
    let is_searched = is_standard(&lib) || has_cache && loader::is_searched(&lib);
    let dirs = Dirs {
        prefix: prefix.clone(),
        libdir: place.libdir.clone(),
        zsh: "zsh/site-functions",
        is_searched,
    };
    let items = layout::items(tree, &dirs)?;
    if !place.force {
        check(&root, &items, &old)?;
    }
    let new = put_all(tree, &root, &prefix, &items, &old)?;
    remove_outdated(&root, &old, &new);
    if has_cache && is_searched {
        loader::refresh()?;
    }
    Ok(summary(&prefix, &lib, is_searched, new.files.len()))
}

/// Fails if this user may not write below the prefix.
pub fn may_write(place: &Destination) -> Result<(), Failure> {
    let dir = below(&root(place)?, &absolute(&place.prefix)?);
    let nearest = dir.ancestors().find(|dir| dir.exists());
    let nearest = nearest.unwrap_or(Path::new("/"));
    access(nearest, AccessFlags::W_OK).map_err(|errno| {
        Failure::of(nearest, errno.desc())
            .next("as root: target/release/hugetools-ship COMMAND --from target/release")
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
                .next("--prefix names the prefix of the installation"),
        );
    }
    manifest.remove(&root)?;
    if place.destdir.is_none() && nix::unistd::geteuid().is_root() && loader::has_cache() {
        loader::refresh()?;
    }
    let count = manifest.files.len();
    Ok(format!("removed {count} files from {}\n", prefix.display()))
}

fn root(place: &Destination) -> Result<PathBuf, Failure> {
    absolute(place.destdir.as_deref().unwrap_or(Path::new("/")))
}

fn absolute(prefix: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(prefix).map_err(|error| Failure::of(prefix, error))
}

/// Whether distributions' loaders search this directory by default.
fn is_standard(lib: &Path) -> bool {
    let names = [
        "lib".to_owned(),
        "lib64".to_owned(),
        format!("lib/{}", text::triplet()),
    ];
    let roots = [Path::new("/"), Path::new("/usr")];
    let mut dirs = names
        .iter()
        .flat_map(|name| roots.map(|root| root.join(name)));
    dirs.any(|dir| dir == lib)
}

/// Fails if a foreign file exists at one of the paths.
fn check(root: &Path, items: &[Item], old: &Manifest) -> Result<(), Failure> {
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
        .next("--force replaces it; --prefix selects another directory")),
    }
}

/// Copies all files. Writes the manifest first, so that `uninstall` works after a failure half-way.
fn put_all(
    tree: &Tree,
    root: &Path,
    prefix: &Path,
    items: &[Item],
    old: &Manifest,
) -> Result<Manifest, Failure> {
    let path = Manifest::path(prefix);
    let mut new = Manifest::default();
    new.files.extend(items.iter().map(|item| item.path.clone()));
    new.files.push(path.clone());
    let parents = new.files.iter().filter_map(|path| path.parent());
    let dirs = parents.flat_map(Path::ancestors);
    let missing = dirs.filter(|dir| !below(root, dir).exists());
    new.dirs = old
        .dirs
        .iter()
        .cloned()
        .chain(missing.map(Path::to_owned))
        .collect();
    unique(&mut new.files);
    unique(&mut new.dirs);
    let list = |manifest: &Manifest| Item {
        part: Part::Run,
        path: path.clone(),
        mode: 0o644,
        contents: Contents::Text(manifest.to_text()),
    };
    let mut both = new.clone();
    both.files.extend(old.files.iter().cloned());
    unique(&mut both.files);
    put(tree, root, &list(&both))?;
    for item in items {
        put(tree, root, item)?;
    }
    put(tree, root, &list(&new))?;
    Ok(new)
}

fn unique(paths: &mut Vec<PathBuf>) {
    paths.sort();
    paths.dedup();
}

/// Removes files of an older installation that the new one lacks.
fn remove_outdated(root: &Path, old: &Manifest, new: &Manifest) {
    let mut gone = old.clone();
    gone.files.retain(|path| !new.files.contains(path));
    gone.dirs.clear();
    // Failures don't matter: the new manifest no longer lists the file.
    let _ = gone.remove(root);
}

fn summary(prefix: &Path, lib: &Path, is_searched: bool, count: usize) -> String {
    let (prefix, lib) = (prefix.display(), lib.display());
    let linking = match is_searched {
        true => "cc … -lhugetlbfs".to_owned(),
        false => format!("cc … $(PKG_CONFIG_PATH={lib}/pkgconfig pkg-config --libs hugetlbfs)"),
    };
    format!(
        "installed {count} files below {prefix}\n  \
         link with: {linking}\n  \
         or: cc -B{prefix}/share/libhugetlbfs -Wl,--hugetlbfs-align …\n  \
         completions in fish, where XDG_DATA_DIRS lacks {prefix}/share: \
         ln -s {prefix}/share/fish/vendor_completions.d/* /etc/fish/completions\n"
    )
}
