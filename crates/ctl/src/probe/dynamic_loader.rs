//! Libraries of a program, found as the dynamic loader finds them, but without
//! `/etc/ld.so.cache`: directories that only ld.so.conf(5) names are not searched.

pub(crate) mod glibc_tunables;
pub(crate) mod ld_preload;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hugetools_elf::{Class, Elf, Ident};

use crate::files;
use crate::probe::target::Libc;

/// Returns the libraries that a program needs, directly or indirectly. Skips files that cannot
/// be found or read. Unlike the loader, applies a `DT_RPATH` to direct dependencies only.
pub(crate) fn libraries(
    program: &Path,
    elf: &Elf,
    libc: Libc,
    library_path: Option<&OsStr>,
) -> Vec<(PathBuf, Elf)> {
    let library_path = split_dirs(library_path.unwrap_or_default());
    let default_dirs = default_dirs(elf.ident(), libc);
    let needed_by = |object: &Elf, path: &Path| {
        let dynamic = object.dynamic();
        let names = dynamic.map(|dynamic| dynamic.needed.clone());
        // DT_RUNPATH replaces DT_RPATH, and is searched after LD_LIBRARY_PATH.
        let runpath = dynamic.and_then(|dynamic| dynamic.runpath.as_deref());
        let rpath = dynamic.and_then(|dynamic| dynamic.rpath.as_deref());
        let rpath = rpath.filter(|_| runpath.is_none());
        let (rpath, runpath) = (expand(rpath, path), expand(runpath, path));
        let dirs = [&rpath, &library_path, &runpath, &default_dirs];
        let dirs = dirs.map(Vec::as_slice).concat();
        (names.unwrap_or_default(), dirs)
    };
    let mut seen: BTreeSet<Vec<u8>> = BTreeSet::new();
    let mut found: Vec<(PathBuf, Elf)> = Vec::new();
    let mut next = 0;
    let (mut names, mut dirs) = needed_by(elf, program);
    loop {
        for name in names {
            if seen.insert(name.clone()) {
                found.extend(open(&name, &dirs, elf.ident()));
            }
        }
        let Some((path, object)) = found.get(next) else {
            return found;
        };
        (names, dirs) = needed_by(object, path);
        next += 1;
    }
}

/// Opens the first file of this name for the same machine.
fn open(name: &[u8], dirs: &[PathBuf], ident: Ident) -> Option<(PathBuf, Elf)> {
    // Joining an absolute path replaces the directory.
    let mut paths = dirs.iter().map(|dir| dir.join(OsStr::from_bytes(name)));
    paths.find_map(|path| {
        let elf = files::open_elf(&path)?;
        (elf.ident() == ident).then_some((path, elf))
    })
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
    let triplet = format!("{}-linux-{libc}", ident.directory_name());
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
