//! The libraries that a program needs, and those that these need.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use hugetools_elf::Elf;

use crate::probe::dynamic_loader::{Loader, Object};
use crate::probe::target::Libc;

/// More libraries than any program needs.
const MOST: usize = 1000;

/// Shows all libraries that a program needs to `look`, each once, but for
/// those whose names are `known`, until one of them is what was looked for.
/// What cannot be found or read is passed over: the loader will complain
/// itself.
pub(crate) fn find<T>(
    program: &Path,
    elf: &Elf<File>,
    library_path: Option<&OsStr>,
    libc: Libc,
    known: &[&[u8]],
    mut look: impl FnMut(&Path, &Elf<File>) -> Option<T>,
) -> Option<T> {
    let dynamic = elf.dynamic()?;
    let top = Object {
        path: program,
        dynamic,
    };
    let loader = Loader::new(elf.ident(), libc, library_path);
    let mut seen: HashSet<Vec<u8>> = known.iter().map(|name| name.to_vec()).collect();
    let mut waiting = vec![(program.to_owned(), dynamic.clone())];
    while let Some((path, dynamic)) = waiting.pop() {
        for name in &dynamic.needed {
            if seen.len() > MOST || !seen.insert(name.clone()) {
                continue;
            }
            let object = Object {
                path: &path,
                dynamic: &dynamic,
            };
            let Some((by, elf)) = loader.find(name, object, top) else {
                continue;
            };
            if let Some(found) = look(&by, &elf) {
                return Some(found);
            }
            if let Some(dynamic) = elf.dynamic() {
                waiting.push((by, dynamic.clone()));
            }
        }
    }
    None
}
