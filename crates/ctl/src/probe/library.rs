//! The library to preload.
//!
//! | place | used |
//! |---|---|
//! | the name, which the loader looks up | with `--library-use-path` |
//! | `DIR` of `--library-path`, or a library directory below it | if given |
//! | a library directory of hugectl's prefix | if installed there |
//! | the copy inside hugectl, which a start writes to disk (see [`bundle`]) | otherwise |
//!
//! The classic libhugetlbfs has libraries of the same names. A symbol identifies ours.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugetools_contract::env::{LIBRARY, MARKER, VERSIONED};
use hugetools_elf::Ident;

use crate::caller::Caller;
use crate::files;
use crate::files::places::places;
use crate::probe::bundle::{self, Bundle};
use crate::say::failure::Failure;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// A file, or a name that the loader looks up.
    At(PathBuf),
    /// The copy inside hugectl.
    Inside {
        name: &'static str,
        /// The file to which a start writes it.
        path: PathBuf,
        /// Whether that file exists, or will before the program starts.
        exists: bool,
    },
    /// Why there is no library.
    Missing(String),
}

impl Found {
    /// The path in `LD_PRELOAD`.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Found::At(path) | Found::Inside { path, .. } => Some(path),
            Found::Missing(_) => None,
        }
    }
}

/// Finds our library `name` in or below the directory of `--library-path`.
pub(crate) fn below(dir: &Path, name: &str) -> Result<PathBuf, Failure> {
    let mut paths = dirs_below(dir).map(|dir| dir.join(name));
    match paths.find(|path| is_ours(path)) {
        Some(path) => carried(dir, &path),
        None => Err(wrong(
            dir,
            &format!(
                "neither this directory nor a library directory below it holds our {name} for {}",
                Ident::native()
            ),
        )),
    }
}

/// Returns the directory for `LD_LIBRARY_PATH`: the first in or below `dir` that holds
/// libhugetlbfs, for programs linked with it; `dir` if none does.
pub(crate) fn search_dir(dir: &Path) -> Result<PathBuf, Failure> {
    if !dir.is_dir() {
        return Err(wrong(dir, "not a directory"));
    }
    let holds = |dir: &PathBuf| {
        let mut names = [LIBRARY, VERSIONED].iter();
        names.any(|name| dir.join(name).exists())
    };
    let found = dirs_below(dir).find(holds);
    carried(dir, found.as_deref().unwrap_or(dir))
}

/// Returns `dir` and the library directories below it.
fn dirs_below(dir: &Path) -> impl Iterator<Item = PathBuf> {
    std::iter::once(dir.to_owned()).chain(library_dirs(dir))
}

/// Returns the absolute path, if `LD_PRELOAD` can carry it.
fn carried(dir: &Path, path: &Path) -> Result<PathBuf, Failure> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match bundle::ld_preload_can_carry(&path) {
        true => Ok(path),
        false => Err(wrong(
            dir,
            "LD_PRELOAD cannot carry a blank, a colon or a dollar sign",
        )),
    }
}

fn wrong(dir: &Path, why: &str) -> Failure {
    Failure::Own(format!("--library-path {}: {why}", dir.display()))
}

pub(crate) fn installed(caller: &Caller, name: &str) -> Option<PathBuf> {
    let exe = caller.exe.as_deref()?;
    let bin = exe.parent()?;
    let is_bin = matches!(bin.file_name().map(OsStr::as_bytes), Some(b"bin" | b"sbin"));
    let prefix = bin.parent().filter(|_| is_bin)?;
    let mut paths = library_dirs(prefix).map(|dir| dir.join(name));
    paths.find(|path| {
        let is_private = |dir: &Path| dir.ends_with(PRIVATE);
        bundle::ld_preload_can_carry(path)
            && path
                .metadata()
                .is_ok_and(|file| is_trusted(&file, exe, caller))
            && (path.parent().is_some_and(is_private) || is_ours(path))
    })
}

/// Returns the copy inside hugectl. `starts`: whether a program will be started.
pub(crate) fn inside(
    caller: &Caller,
    name: &'static str,
    bundle: Option<&Bundle<'_>>,
    starts: bool,
) -> Found {
    let Some(bundle) = bundle else {
        return Found::Missing(format!(
            "hugectl is not installed: there is no {name} in its prefix"
        ));
    };
    match bundle::predict_path(&places(caller), bundle, name, caller.euid) {
        Ok(path) => Found::Inside {
            name,
            exists: starts || path.exists(),
            path,
        },
        Err(why) => Found::Missing(format!(
            "hugectl's bundled {name} cannot be written to disk: {why}"
        )),
    }
}

/// Our directory below a library directory.
const PRIVATE: &str = "hugetools";

/// Returns the library directories of a prefix, ours first.
fn library_dirs(prefix: &Path) -> impl Iterator<Item = PathBuf> {
    let triplet = format!("lib/{}-linux-gnu", Ident::native().directory_name());
    let dirs = [&triplet, "lib64", "lib"].map(|name| prefix.join(name));
    let private = dirs.clone().map(|dir| dir.join(PRIVATE));
    private.into_iter().chain(dirs)
}

/// Whether a file is one of our libraries, for this machine.
fn is_ours(path: &Path) -> bool {
    let elf = files::open_elf(path).filter(|elf| elf.ident() == Ident::native());
    elf.is_some_and(|elf| matches!(elf.defines(MARKER), Ok(true)))
}

/// Whether a trusted user owns the file, and not everybody may write to it. Trusted are root,
/// the caller, and the owner of hugectl, who could replace hugectl itself.
fn is_trusted(file: &Metadata, exe: &Path, caller: &Caller) -> bool {
    const OTHERS_WRITE: u32 = 0o002;
    let owns = |uid: u32| {
        [0, caller.euid].contains(&uid) || exe.metadata().is_ok_and(|exe| exe.uid() == uid)
    };
    file.is_file() && file.mode() & OTHERS_WRITE == 0 && owns(file.uid())
}
