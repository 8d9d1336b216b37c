//! Where a loader finds a library, near enough to look into it.

pub(crate) mod dt_needed;
pub(crate) mod glibc_tunables;
pub(crate) mod ld_preload;
mod ld_so_cache;

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hugetools_elf::{Class, Dynamic, Elf, Ident};

use crate::files;
use crate::probe::dynamic_loader::ld_so_cache::Cache;
use crate::probe::target::Libc;

/// How the loader of one program searches.
#[derive(Debug)]
pub(crate) struct Loader<'a> {
    ident: Ident,
    libc: Libc,
    /// `LD_LIBRARY_PATH`
    path: Option<&'a OsStr>,
    cache: OnceCell<Cache>,
}

/// An object that needs libraries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'a> {
    pub(crate) path: &'a Path,
    pub(crate) dynamic: &'a Dynamic,
}

impl<'a> Loader<'a> {
    pub(crate) fn new(ident: Ident, libc: Libc, path: Option<&'a OsStr>) -> Loader<'a> {
        Loader {
            ident,
            libc,
            path,
            cache: OnceCell::new(),
        }
    }

    /// The file that `name` means to the object that needs it; `program` is
    /// the executable, whose `DT_RPATH` holds for all.
    pub(crate) fn find(
        &self,
        name: &[u8],
        object: Object<'_>,
        program: Object<'_>,
    ) -> Option<(PathBuf, Elf<File>)> {
        let runpath = object.dynamic.runpath.as_deref();
        let rpaths = [object, program].map(|object| match object.dynamic.runpath {
            Some(_) => Vec::new(),
            None => dirs(object.dynamic.rpath.as_deref(), object.path),
        });
        let rpaths = rpaths.into_iter().flatten();
        let told = rpaths
            .chain(self.library_path())
            .chain(dirs(runpath, object.path));
        self.open(name, told).or_else(|| self.by_name(name))
    }

    /// The file that a bare name means to `LD_PRELOAD`.
    pub(crate) fn find_preload(&self, name: &[u8]) -> Option<(PathBuf, Elf<File>)> {
        self.open(name, self.library_path())
            .or_else(|| self.by_name(name))
    }

    fn open(
        &self,
        name: &[u8],
        dirs: impl IntoIterator<Item = PathBuf>,
    ) -> Option<(PathBuf, Elf<File>)> {
        let name = OsStr::from_bytes(name);
        // A name with a slash is a path already.
        if name.as_bytes().contains(&b'/') {
            return self.fitting(PathBuf::from(name));
        }
        dirs.into_iter()
            .find_map(|dir| self.fitting(dir.join(name)))
    }

    fn by_name(&self, name: &[u8]) -> Option<(PathBuf, Elf<File>)> {
        if self.libc == Libc::Glibc {
            let cache = self.cache.get_or_init(read_cache);
            if let Some(found) = cache.find(name).find_map(|path| self.fitting(path)) {
                return Some(found);
            }
        }
        self.open(name, self.default_dirs())
    }

    /// The file, if it is for the same machine.
    fn fitting(&self, path: PathBuf) -> Option<(PathBuf, Elf<File>)> {
        let elf = files::open_elf(&path)?;
        (elf.ident() == self.ident).then_some((path, elf))
    }

    fn library_path(&self) -> Vec<PathBuf> {
        let path = self.path.filter(|path| !path.is_empty());
        let dirs = path.map(|path| path.as_bytes().split(|byte| matches!(byte, b':' | b';')));
        let here = |dir: &[u8]| match dir {
            b"" => PathBuf::from("."),
            dir => PathBuf::from(OsStr::from_bytes(dir)),
        };
        dirs.into_iter().flatten().map(here).collect()
    }

    fn default_dirs(&self) -> Vec<PathBuf> {
        let triplet = format!(
            "{}-linux-{}",
            self.ident.machine,
            match self.libc {
                Libc::Musl => "musl",
                _ => "gnu",
            }
        );
        let wide = self.ident.class == Class::Elf64;
        let mut dirs = vec![format!("/lib/{triplet}"), format!("/usr/lib/{triplet}")];
        if wide {
            dirs.extend(["/lib64".to_owned(), "/usr/lib64".to_owned()]);
        }
        dirs.extend(["/lib", "/usr/local/lib", "/usr/lib"].map(str::to_owned));
        dirs.into_iter().map(PathBuf::from).collect()
    }
}

fn read_cache() -> Cache {
    use std::io::Read;
    let mut bytes = Vec::new();
    let read = files::open_regular(Path::new("/etc/ld.so.cache"))
        .and_then(|(file, _)| file.take(32 << 20).read_to_end(&mut bytes));
    match read {
        Ok(_) => Cache::new(bytes),
        Err(_) => Cache::default(),
    }
}

/// The directories of a `DT_RPATH` or `DT_RUNPATH`, with `$ORIGIN` and `$LIB`
/// put in. Entries with other tokens are left out.
fn dirs(list: Option<&[u8]>, object: &Path) -> Vec<PathBuf> {
    let origin = object.parent().unwrap_or(Path::new("/"));
    let Some(list) = list.and_then(|list| std::str::from_utf8(list).ok()) else {
        return Vec::new();
    };
    let libs: &[&str] = match list.contains("LIB") {
        true => &["lib64", "lib"],
        false => &[""],
    };
    let mut dirs = Vec::new();
    for dir in list.split(':').filter(|dir| !dir.is_empty()) {
        for lib in libs {
            let dir = dir
                .replace("${ORIGIN}", "$ORIGIN")
                .replace("${LIB}", "$LIB");
            let dir = dir.replace("$LIB", lib);
            let dir = dir.replace("$ORIGIN", &origin.to_string_lossy());
            if !dir.contains('$') {
                dirs.push(PathBuf::from(dir));
            }
        }
    }
    dirs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_in_paths() {
        let object = Path::new("/opt/x/bin/program");
        let expand = |list: &str| dirs(Some(list.as_bytes()), object);
        assert_eq!(
            expand("$ORIGIN/../lib:/usr/x"),
            [PathBuf::from("/opt/x/bin/../lib"), PathBuf::from("/usr/x")]
        );
        assert_eq!(
            expand("${ORIGIN}/${LIB}"),
            [
                PathBuf::from("/opt/x/bin/lib64"),
                PathBuf::from("/opt/x/bin/lib")
            ]
        );
        assert!(expand("$PLATFORM/x::").is_empty());
        assert!(dirs(None, object).is_empty());
    }

    #[test]
    fn the_c_library_of_this_machine_is_found_by_name() {
        let loader = Loader::new(Ident::native(), Libc::Glibc, None);
        let (path, elf) = loader.find_preload(b"libc.so.6").unwrap();
        assert!(path.ends_with("libc.so.6"));
        assert!(elf.defines("malloc").unwrap());
        assert!(loader.find_preload(b"no-such-library.so").is_none());
    }
}
