//! Libraries of a program, found as the dynamic loader finds them. `/etc/ld.so.cache` is not
//! read: libraries outside of the default directories and the program's own are not found.

pub(crate) mod glibc_tunables;
pub(crate) mod ld_preload;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hugetools_elf::{Class, Elf, Ident};

use crate::files;
use crate::probe::target::Libc;

/// Maximum number of libraries. No program needs more.
const MOST: usize = 1000;

/// Returns the libraries that a program needs, and those that these need. Files that cannot be
/// found or read are ignored.
pub(crate) fn libraries(
    program: &Path,
    elf: &Elf<File>,
    libc: Libc,
    library_path: Option<&OsStr>,
) -> Vec<(PathBuf, Elf<File>)> {
    let mut seen: BTreeSet<Vec<u8>> = BTreeSet::new();
    let library_path = library_path.filter(|path| !path.is_empty());
    let search = Search {
        ident: elf.ident(),
        program_rpath: rpath(elf, program),
        library_path: split_dirs(library_path.unwrap_or_default()),
        default_dirs: default_dirs(elf.ident(), libc),
    };
    let mut found: Vec<(PathBuf, Elf<File>)> = Vec::new();
    let mut next = 0;
    let mut needed = search.needed_by(elf, program);
    loop {
        for (name, dirs) in needed {
            if seen.len() < MOST && seen.insert(name.clone()) {
                found.extend(search.open(&name, dirs));
            }
        }
        let Some((path, elf)) = found.get(next) else {
            return found;
        };
        needed = search.needed_by(elf, path);
        next += 1;
    }
}

/// The directories in which the loader of one program searches.
struct Search {
    ident: Ident,
    /// `DT_RPATH` of the program, which holds for its libraries, too.
    program_rpath: Vec<PathBuf>,
    /// `LD_LIBRARY_PATH`
    library_path: Vec<PathBuf>,
    default_dirs: Vec<PathBuf>,
}

impl Search {
    /// Returns the names that an object needs, each with the directories to search.
    fn needed_by(&self, object: &Elf<File>, path: &Path) -> Vec<(Vec<u8>, Vec<PathBuf>)> {
        let Some(dynamic) = object.dynamic() else {
            return Vec::new();
        };
        let runpath = expand(dynamic.runpath.as_deref(), path);
        let lists = [
            rpath(object, path),
            self.program_rpath.clone(),
            self.library_path.clone(),
            runpath,
            self.default_dirs.clone(),
        ];
        let dirs = lists.concat();
        let names = dynamic.needed.iter();
        names.map(|name| (name.clone(), dirs.clone())).collect()
    }

    /// Opens the first file of the name that is for the same machine.
    fn open(&self, name: &[u8], dirs: Vec<PathBuf>) -> Option<(PathBuf, Elf<File>)> {
        let name = OsStr::from_bytes(name);
        // Joining an absolute path replaces the directory.
        let mut paths = dirs.into_iter().map(|dir| dir.join(name));
        paths.find_map(|path| {
            let elf = files::open_elf(&path)?;
            (elf.ident() == self.ident).then_some((path, elf))
        })
    }
}

/// Returns the directories of an object's `DT_RPATH`, which `DT_RUNPATH` replaces.
fn rpath(object: &Elf<File>, path: &Path) -> Vec<PathBuf> {
    let dynamic = object.dynamic().filter(|dynamic| dynamic.runpath.is_none());
    expand(dynamic.and_then(|dynamic| dynamic.rpath.as_deref()), path)
}

fn split_dirs(list: &OsStr) -> Vec<PathBuf> {
    let dirs = list.as_bytes().split(|byte| matches!(byte, b':' | b';'));
    let dirs = dirs.filter(|dir| !dir.is_empty());
    dirs.map(|dir| PathBuf::from(OsStr::from_bytes(dir)))
        .collect()
}

/// Splits the list of a `DT_RPATH` or `DT_RUNPATH` and replaces `$ORIGIN`. Entries with other
/// variables are dropped.
fn expand(list: Option<&[u8]>, object: &Path) -> Vec<PathBuf> {
    let origin = object.parent().unwrap_or(Path::new("/"));
    let list = String::from_utf8_lossy(list.unwrap_or_default());
    let list = list.replace("${ORIGIN}", "$ORIGIN");
    let list = list.replace("$ORIGIN", &origin.to_string_lossy());
    let dirs = split_dirs(OsStr::new(&list)).into_iter();
    dirs.filter(|dir| !dir.as_os_str().as_bytes().contains(&b'$'))
        .collect()
}

fn default_dirs(ident: Ident, libc: Libc) -> Vec<PathBuf> {
    let libc = match libc {
        Libc::Musl => "musl",
        Libc::Glibc | Libc::Other => "gnu",
    };
    let triplet = format!("{}-linux-{libc}", ident.machine);
    let mut dirs = vec![format!("/lib/{triplet}"), format!("/usr/lib/{triplet}")];
    if ident.class == Class::Elf64 {
        dirs.extend(["/lib64", "/usr/lib64"].map(str::to_owned));
    }
    dirs.extend(["/lib", "/usr/local/lib", "/usr/lib"].map(str::to_owned));
    dirs.into_iter().map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_run_paths() {
        let object = Path::new("/opt/x/bin/program");
        let expanded = |list: &str| expand(Some(list.as_bytes()), object);
        assert_eq!(
            expanded("$ORIGIN/../lib:/usr/x"),
            [PathBuf::from("/opt/x/bin/../lib"), PathBuf::from("/usr/x")]
        );
        assert_eq!(expanded("${ORIGIN}/y"), [PathBuf::from("/opt/x/bin/y")]);
        assert!(expanded("$PLATFORM/x::").is_empty());
        assert!(expand(None, object).is_empty());
    }
}
