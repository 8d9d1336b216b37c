//! Finds the real linker, and our library for its target.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugetools_contract::env::{LIBRARY, MARKER, VERSIONED};
use hugetools_elf::{Elf, Ident};

use super::caller::Caller;
use crate::failure::Failure;
use crate::file;

/// Names of this program under which it replaces `ld`.
const NAMES_FOR_LD: [&str; 2] = ["ld-hugetlbfs", "ld.hugetlbfs"];

/// Returns the real linker and the arguments that `LD` gives it.
///
/// `LD` counts if this program is called `ld` or by its own name. Called as `ld.gold` or `ld.lld`,
/// as by `gcc -fuse-ld=`, it runs the linker of that name. Skips this program and all links to it.
pub(crate) fn linker(caller: &Caller) -> Result<Vec<OsString>, Failure> {
    let called = caller.argv.first().map(Path::new);
    let called = called.and_then(Path::file_name).unwrap_or_default();
    let name = match NAMES_FOR_LD.iter().any(|own| called == *own) || called.is_empty() {
        true => OsStr::new("ld"),
        false => called,
    };
    if let Some(ld) = caller
        .ld
        .as_deref()
        .filter(|ld| !ld.is_empty() && name == "ld")
    {
        if let Some(words) = from_ld_variable(caller, ld)? {
            return Ok(words);
        }
    }
    match search(caller, name) {
        Some(path) => Ok(vec![path.into()]),
        None => Err(Failure::new(format!(
            "there is no other {} in COMPILER_PATH or PATH",
            Path::new(name).display()
        ))
        .next("LD=PATH names the real linker")),
    }
}

/// Returns the linker in `LD`, with its arguments; `None` if that is blank or this program.
fn from_ld_variable(caller: &Caller, ld: &OsStr) -> Result<Option<Vec<OsString>>, Failure> {
    let blank = |byte: &u8| byte.is_ascii_whitespace();
    let words = ld.as_bytes().split(blank).filter(|word| !word.is_empty());
    let words: Vec<OsString> = words
        .map(|word| OsStr::from_bytes(word).to_owned())
        .collect();
    let Some((name, rest)) = words.split_first() else {
        return Ok(None);
    };
    let found = match name.as_bytes().contains(&b'/') {
        true => Vec::from([PathBuf::from(name)]),
        false => programs(caller, name).collect(),
    };
    let mut found = found.into_iter().filter(|path| path.is_file()).peekable();
    if found.peek().is_none() {
        return Err(
            Failure::of(Path::new(ld), "no such linker, but LD names it")
                .next("correct LD, or unset it"),
        );
    }
    let other = found.find(|path| !is_self(caller, path));
    Ok(other.map(|path| {
        let words = std::iter::once(path.into()).chain(rest.iter().cloned());
        words.collect()
    }))
}

/// Finds the first program of this name other than ld.hugetlbfs.
fn search(caller: &Caller, name: &OsStr) -> Option<PathBuf> {
    programs(caller, name).find(|path| !is_self(caller, path))
}

/// Lists the programs of this name in COMPILER_PATH and PATH.
fn programs(caller: &Caller, name: &OsStr) -> impl Iterator<Item = PathBuf> {
    let paths = [&caller.compiler_path, &caller.path];
    let paths = paths.into_iter().flatten();
    let dirs = paths.flat_map(std::env::split_paths);
    dirs.map(move |dir| dir.join(name))
        .filter(|path| fs::metadata(path).is_ok_and(|found| is_executable(&found)))
}

fn is_executable(found: &Metadata) -> bool {
    found.is_file() && found.mode() & 0o111 != 0
}

fn is_self(caller: &Caller, path: &Path) -> bool {
    let file = |path: &Path| {
        let found = fs::metadata(path).ok()?;
        Some((found.dev(), found.ino()))
    };
    let own = caller.exe.as_deref().and_then(file);
    own.is_some() && own == file(path)
}

/// Our library for an architecture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Library {
    /// The directory to pass to the linker (`-L`).
    pub(crate) dir: PathBuf,
    /// The directory to add to the loader's path (`-rpath`); `None` if the loader
    /// searches it anyway, or the library is not installed.
    pub(crate) rpath: Option<PathBuf>,
}

/// Finds our library for an architecture, beside this program or below the prefix of
/// its installation.
pub(crate) fn library(caller: &Caller, ident: Ident) -> Option<Library> {
    let beside = caller.exe.as_deref()?.parent()?;
    let is_bin = beside.file_name() == Some(OsStr::new("bin"));
    let prefix = beside.parent().filter(|_| is_bin);
    let triplet = format!("lib/{}-linux-gnu", ident.directory_name());
    let below = [&triplet, "lib64", "lib"];
    let own = below.map(|dir| format!("{dir}/hugetools"));
    let below = below.into_iter().map(str::to_owned).chain(own);
    let installed = prefix.map(|prefix| below.map(|dir| prefix.join(dir)));
    let mut dirs = std::iter::once(beside.to_owned()).chain(installed.into_iter().flatten());
    let dir = dirs.find(|dir| is_ours(&dir.join(LIBRARY), ident))?;
    Some(Library {
        rpath: rpath(&dir, &triplet),
        dir,
    })
}

/// Returns the directory to add to the loader's path for the library in `dir`. A `dir` named
/// `hugetools` has only a symlink, for the linker; the file is in its parent.
fn rpath(dir: &Path, triplet: &str) -> Option<PathBuf> {
    let own = dir.file_name() == Some(OsStr::new("hugetools"));
    let dir = dir.parent().filter(|_| own).unwrap_or(dir);
    let anyway = ["lib", "lib64", triplet].map(|name| Path::new("/usr").join(name));
    let is_there = dir.join(VERSIONED).exists();
    (is_there && !anyway.iter().any(|known| known == dir)).then(|| dir.to_owned())
}

fn is_ours(path: &Path, ident: Ident) -> bool {
    let elf = file::open(path, false)
        .ok()
        .and_then(|file| Elf::read(file).ok());
    elf.is_some_and(|elf| elf.ident() == ident && elf.defines(MARKER).unwrap_or(false))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    /// Directories of programs; `own` has this program.
    struct Programs(tempfile::TempDir);

    impl Programs {
        fn new() -> Programs {
            let programs = Programs(tempfile::tempdir().unwrap());
            programs.program("own/ld-hugetlbfs", 0o755);
            programs
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().join(name)
        }

        fn program(&self, name: &str, mode: u32) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let file = fs::File::create(&path).unwrap();
            file.set_permissions(fs::Permissions::from_mode(mode))
                .unwrap();
        }

        fn link(&self, name: &str) {
            let path = self.path(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(self.path("own/ld-hugetlbfs"), path).unwrap();
        }

        fn caller(&self, called: &str, ld: Option<&str>) -> Caller {
            let dirs = |names: &[&str]| {
                let dirs = names.iter().map(|name| self.path(name));
                Some(std::env::join_paths(dirs).unwrap())
            };
            Caller {
                argv: vec![called.into()],
                exe: Some(self.path("own/ld-hugetlbfs")),
                ld: ld.map(|ld| ld.replace("DIR", self.0.path().to_str().unwrap()).into()),
                compiler_path: dirs(&["own", "gcc"]),
                path: dirs(&["own", "first", "second"]),
                ..Caller::default()
            }
        }

        /// Returns the linker found, as text with DIR for the directory.
        fn found(&self, called: &str, ld: Option<&str>) -> String {
            let found = linker(&self.caller(called, ld));
            let words = found.map(|words| {
                let words: Vec<&str> = words.iter().map(|w| w.to_str().unwrap()).collect();
                words.join(" ")
            });
            let text = words.unwrap_or_else(|failure| failure.to_string());
            text.replace(self.0.path().to_str().unwrap(), "DIR")
        }
    }

    #[test]
    fn skips_links_to_this_program() {
        let programs = Programs::new();
        programs.link("own/ld");
        programs.link("first/ld");
        assert_eq!(
            programs.found("/x/ld", None),
            "there is no other ld in COMPILER_PATH or PATH\n  LD=PATH names the real linker"
        );
        programs.program("second/ld", 0o755);
        assert_eq!(programs.found("ld", None), "DIR/second/ld");
        assert_eq!(programs.found("own/ld.hugetlbfs", None), "DIR/second/ld");
        programs.program("gcc/ld", 0o644);
        assert_eq!(programs.found("ld", None), "DIR/second/ld");
        programs.program("gcc/ld", 0o755);
        assert_eq!(programs.found("ld-hugetlbfs", None), "DIR/gcc/ld");
    }

    #[test]
    fn the_ld_variable_selects_the_linker_unless_it_is_this_program() {
        let programs = Programs::new();
        programs.link("first/mine");
        programs.program("second/ld", 0o755);
        programs.program("second/other", 0o755);
        assert_eq!(programs.found("ld", Some("other")), "DIR/second/other");
        assert_eq!(
            programs.found("ld", Some("DIR/second/other -m x")),
            "DIR/second/other -m x"
        );
        for own in ["", " ", "mine", "DIR/first/mine"] {
            assert_eq!(programs.found("ld", Some(own)), "DIR/second/ld", "{own}");
        }
        assert_eq!(
            programs.found("ld", Some("none -m x")),
            "none -m x: no such linker, but LD names it\n  correct LD, or unset it"
        );
    }

    #[test]
    fn rpath_is_only_for_directories_outside_the_default_path() {
        let programs = Programs::new();
        programs.program("lib/libhugetlbfs.so.0", 0o644);
        let lib = programs.path("lib");
        let rpath_of = |dir: &Path| rpath(dir, "lib/x86_64-linux-gnu");
        assert_eq!(rpath_of(&lib), Some(lib.clone()));
        assert_eq!(rpath_of(&lib.join("hugetools")), Some(lib));
        assert_eq!(rpath_of(&programs.path("lib64")), None);
        assert_eq!(rpath_of(Path::new("/usr/lib/x86_64-linux-gnu")), None);
    }
}
