//! Where the library to preload is.
//!
//! | where | when |
//! |---|---|
//! | `--library-path DIR`, or a library directory below it | told so |
//! | beside hugectl | in a build tree |
//! | a library directory of hugectl's prefix | installed |
//! | the copy inside hugectl, put on disk by [`bundle`] | else |
//!
//! A candidate is taken when it exports the symbol that marks our libraries:
//! others are of the same name.

use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hugetools_contract::env::{LIBRARY, MARKER, VERSIONED};
use hugetools_elf::{Elf, Ident};

use crate::caller::Caller;
use crate::files;
use crate::probe::bundle::{self, Bundle};
use crate::say::failure::Failure;

/// A library that was found, or why there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The absolute path of the file.
    At(PathBuf),
    /// There is none that could be preloaded.
    Nowhere(String),
}

/// Whether the file is a library of ours.
pub(crate) fn is_ours(path: &Path) -> bool {
    check(path, None).is_ok()
}

/// Looks for the library `name` in a place that was given on the command line.
///
/// # Errors
/// When it is not there, with what is there instead.
pub fn below(dir: &Path, name: &str) -> Result<PathBuf, Failure> {
    let mut others = Vec::new();
    for candidate in library_dirs(dir).map(|dir| dir.join(name)) {
        match check(&candidate, Some(Ident::native())) {
            Ok(()) => {
                let path = absolute(&candidate);
                return match bundle::carries(&path) {
                    true => Ok(path),
                    false => Err(Failure::Own(format!(
                        "--library-path {}: LD_PRELOAD cannot carry a blank, a colon or a dollar sign",
                        dir.display()
                    ))),
                };
            }
            Err(Unfit::Absent) => {}
            Err(Unfit::Other(why)) => others.push(format!("{} {why}", candidate.display())),
        }
    }
    let found = match others.is_empty() {
        true => String::new(),
        false => format!(" ({})", others.join("; ")),
    };
    Err(Failure::Own(format!(
        "--library-path {}: neither this directory nor a library directory below it holds our {name}{found}",
        dir.display()
    )))
}

/// The directory to put into `LD_LIBRARY_PATH` for a place that was given on
/// the command line: for programs that are linked with a library of that name,
/// whoever's it is.
///
/// # Errors
/// When it is no directory, or one that the variable cannot carry.
pub fn search_dir(dir: &Path) -> Result<PathBuf, Failure> {
    let fail = |why: &str| {
        Err(Failure::Own(format!(
            "--library-path {}: {why}",
            dir.display()
        )))
    };
    if !dir.is_dir() {
        return fail("not a directory");
    }
    let holds = |dir: &PathBuf| {
        [LIBRARY, VERSIONED]
            .iter()
            .any(|name| dir.join(name).exists())
    };
    let found = library_dirs(dir).find(holds);
    let found = absolute(found.as_deref().unwrap_or(dir));
    match bundle::carries(&found) {
        true => Ok(found),
        false => fail("LD_LIBRARY_PATH cannot carry a blank, a colon or a dollar sign"),
    }
}

/// Looks for the library `name` beside hugectl and in its prefix.
pub fn near(caller: &Caller, name: &str) -> Option<PathBuf> {
    let exe = caller.exe.as_deref()?;
    let beside = exe.parent()?;
    let prefix = match beside.file_name().map(OsStr::as_bytes) {
        Some(b"bin" | b"sbin") => beside.parent(),
        _ => None,
    };
    let dirs = std::iter::once(beside.to_owned()).chain(prefix.into_iter().flat_map(library_dirs));
    let owner = std::fs::metadata(exe).ok()?.uid();
    dirs.map(|dir| dir.join(name)).find(|candidate| {
        bundle::carries(candidate)
            && std::fs::metadata(candidate).is_ok_and(|file| is_trusted(&file, owner, caller))
            && check(candidate, Some(Ident::native())).is_ok()
    })
}

/// Looks for the library `name` inside hugectl; the answer is where a start puts it.
pub fn inside(caller: &Caller, name: &str, bundle: Option<&Bundle<'_>>) -> Found {
    match bundle {
        None => Found::Nowhere(format!(
            "there is no {name} beside hugectl or in its prefix"
        )),
        Some(bundle) => match bundle::future_place(bundle, name, caller) {
            Ok(path) => Found::At(path),
            Err(why) => Found::Nowhere(format!(
                "the {name} inside hugectl cannot be put anywhere: {why}"
            )),
        },
    }
}

/// The directory itself, then those that libraries are installed in below a
/// prefix.
fn library_dirs(prefix: &Path) -> impl Iterator<Item = PathBuf> {
    let triplet = format!("lib/{}-linux-gnu", Ident::native().machine);
    // Installed, ours are below `hugetools`, whatever is linked with.
    let names = [&triplet, "lib64", "lib", "lib32"];
    let own = names.map(|name| prefix.join(name).join("hugetools"));
    let whole = names.map(|name| prefix.join(name));
    std::iter::once(prefix.to_owned()).chain(own).chain(whole)
}

enum Unfit {
    Absent,
    Other(String),
}

/// Checks that a file is a library of ours and, where told so, for which
/// machine.
fn check(path: &Path, ident: Option<Ident>) -> Result<(), Unfit> {
    let other = |why: String| Err(Unfit::Other(why));
    let file = match files::open_regular(path) {
        Ok((file, _)) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Err(Unfit::Absent),
        Err(error) => return other(format!("cannot be read: {error}")),
    };
    let elf = match Elf::read(file) {
        Ok(elf) => elf,
        Err(error) => return other(format!("is of no use: {error}")),
    };
    if let Some(wanted) = ident.filter(|wanted| *wanted != elf.ident()) {
        return other(format!("is for {}, not for {wanted}", elf.ident()));
    }
    match elf.defines(MARKER) {
        Ok(true) => Ok(()),
        _ => other("is not ours".to_owned()),
    }
}

/// Whether nobody else can have put the file there: it belongs to root, to the
/// caller, or to the owner of hugectl, who could do anything already.
fn is_trusted(file: &Metadata, owner: u32, caller: &Caller) -> bool {
    const OTHERS_WRITE: u32 = 0o002;
    [0, caller.euid, owner].contains(&file.uid()) && file.mode() & OTHERS_WRITE == 0
}

fn absolute(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_error| path.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUNDLE: Bundle<'static> = Bundle {
        digest: "0123abcd",
        preload: b"the library",
        heap: b"the other",
    };

    #[test]
    fn the_copy_inside_is_the_last_resort() {
        let mut caller = Caller::this([]);
        caller.exe = Some(PathBuf::from("/no/such/bin/hugectl"));
        assert_eq!(near(&caller, LIBRARY), None);
        let found = inside(&caller, LIBRARY, Some(&BUNDLE));
        let Found::At(path) = found else {
            panic!("{found:?}");
        };
        assert!(
            path.ends_with("0123abcd/libhugetlbfs.so"),
            "{}",
            path.display()
        );
        assert!(!path.exists());
        let nowhere = inside(&caller, LIBRARY, None);
        let text = "there is no libhugetlbfs.so beside hugectl or in its prefix";
        assert_eq!(nowhere, Found::Nowhere(text.to_owned()));
    }
}
