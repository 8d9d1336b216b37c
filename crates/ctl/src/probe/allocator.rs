//! Programs with their own allocator.
//!
//! If a program calls its allocator by other names, too, a block from one allocator could be
//! freed by the other. Such a program keeps its malloc.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use hugetools_contract::allocators::{ALLOCATORS, Allocator};
use hugetools_elf::Elf;

use crate::probe::dynamic_loader;
use crate::probe::target::Libc;

/// Why a program keeps its own allocator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Own {
    /// The program itself defines `malloc`.
    Defined,
    /// It, or a library that it needs, calls an allocator by another name.
    Called {
        /// The name.
        symbol: &'static str,
        /// The file that calls.
        by: PathBuf,
    },
    /// It was built with a sanitizer, whose library must know every block.
    Checked {
        /// That library.
        by: PathBuf,
    },
}

impl Own {
    /// The fact, as a sentence about the program.
    pub(crate) fn fact(&self) -> String {
        format!("the program has its own allocator ({self})")
    }

    /// Whether `--anon` reaches its memory: jemalloc, mimalloc and tcmalloc use mappings or
    /// the program break.
    pub(crate) fn is_reached_by_anon(&self) -> bool {
        let Own::Called { symbol, .. } = self else {
            return false;
        };
        let mut prefixes = ["je_", "mi_", "tc_"].into_iter();
        symbol.ends_with("allocx") || prefixes.any(|prefix| symbol.starts_with(prefix))
    }
}

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Own::Defined => f.write_str("it defines malloc itself"),
            Own::Called { symbol, by } => write!(f, "{} calls {symbol}", by.display()),
            Own::Checked { by } => write!(f, "that of a sanitizer, {}", by.display()),
        }
    }
}

/// The name by which the library of a sanitizer exports its `malloc`.
const SANITIZER: &str = "__interceptor_malloc";

/// Common libraries that call no allocator by another name. They need not be opened.
const HARMLESS: [&[u8]; 13] = [
    b"libc.so.6",
    b"libm.so.6",
    b"libdl.so.2",
    b"librt.so.1",
    b"libpthread.so.0",
    b"libresolv.so.2",
    b"libutil.so.1",
    b"libgcc_s.so.1",
    b"libstdc++.so.6",
    b"libmvec.so.1",
    b"libc.so",
    b"libz.so.1",
    b"libtinfo.so.6",
];

/// Returns why a program keeps its own allocator, if it does. Libraries that cannot be found
/// or read are ignored: the loader will complain itself.
pub(crate) fn find(
    program: &Path,
    elf: &Elf<File>,
    libc: Libc,
    library_path: Option<&OsStr>,
) -> Option<Own> {
    if defines(elf, "malloc") {
        return Some(Own::Defined);
    }
    let libraries = dynamic_loader::libraries(program, elf, libc, library_path, &HARMLESS);
    if let Some((by, _)) = libraries.iter().find(|(_, elf)| defines(elf, SANITIZER)) {
        return Some(Own::Checked { by: by.clone() });
    }
    let found = libraries.iter().filter_map(|(_, elf)| allocator_in(elf));
    let names = found.flat_map(|allocator| allocator.entry_points);
    let names: Vec<&str> = names.filter_map(|name| name.to_str().ok()).collect();
    if names.is_empty() {
        return None;
    }
    let callers = libraries.iter().map(|(path, elf)| (path.as_path(), elf));
    std::iter::once((program, elf))
        .chain(callers)
        .find_map(|(by, elf)| {
            let symbol = elf.refers_to(&names).ok()??;
            let by = by.to_owned();
            Some(Own::Called { symbol, by })
        })
}

/// Returns the allocator in a library that defines `malloc` and other names for it.
fn allocator_in(library: &Elf<File>) -> Option<&'static Allocator> {
    let is_in = |allocator: &&Allocator| {
        let mark = allocator.mark.to_str();
        mark.is_ok_and(|mark| defines(library, mark))
    };
    ALLOCATORS
        .iter()
        .find(is_in)
        .filter(|_| defines(library, "malloc"))
}

fn defines(elf: &Elf<File>, name: &str) -> bool {
    matches!(elf.defines(name), Ok(true))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use std::process::Command;

    const ALLOCATOR: &str = "void *malloc(unsigned long n) { (void)n; return 0; } \
                             void *mallocx(unsigned long n, int f) { (void)n; (void)f; return 0; }";
    const ONLY_MALLOCX: &str =
        "void *mallocx(unsigned long n, int f) { (void)n; (void)f; return 0; }";
    const CALLER: &str =
        "void *mallocx(unsigned long, int); void *make(void) { return mallocx(1, 0); }";
    const MAIN: &str = "void *make(void); int main(void) { return make() != 0; }";
    const OWN: &str = "static char pool[64]; void *malloc(unsigned long n) { (void)n; return pool; } \
                       void free(void *p) { (void)p; } int main(void) { return 0; }";

    fn own(program: &Path, library_path: Option<&OsStr>) -> Option<Own> {
        let elf = files::open_elf(program).unwrap();
        find(program, &elf, Libc::Glibc, library_path)
    }

    fn build(dir: &Path, name: &str, source: &str, args: &[&str]) -> PathBuf {
        use std::io::Write;
        let input = dir.join(format!("{name}.c"));
        let mut file = std::fs::File::create(&input).unwrap();
        file.write_all(source.as_bytes()).unwrap();
        let mut command = Command::new("cc");
        command
            .current_dir(dir)
            .arg(input)
            .args(args)
            .args(["-o", name]);
        assert!(command.status().unwrap().success());
        dir.join(name)
    }

    #[test]
    fn a_malloc_in_the_program() {
        let dir = tempfile::tempdir().unwrap();
        let program = build(dir.path(), "program", OWN, &[]);
        assert_eq!(own(&program, None), Some(Own::Defined));
        assert_eq!(own(Path::new("/bin/sh"), None), None);
    }

    #[test]
    fn other_names_in_a_library_of_a_library() {
        let dir = tempfile::tempdir().unwrap();
        let library = ["-shared", "-fPIC"];
        build(dir.path(), "liballoc.so", ALLOCATOR, &library);
        let linked = ["-shared", "-fPIC", "liballoc.so"];
        build(dir.path(), "libcaller.so", CALLER, &linked);
        let args = ["libcaller.so", "-Wl,-rpath-link,."];
        let program = build(dir.path(), "program", MAIN, &args);
        let called = Own::Called {
            symbol: "mallocx",
            by: dir.path().join("libcaller.so"),
        };
        assert!(called.is_reached_by_anon());
        let path = Some(dir.path().as_os_str());
        assert_eq!(own(&program, path), Some(called.clone()));
        // The loader wouldn't find the library either.
        assert_eq!(own(&program, None), None);
        let origin = "-Wl,-rpath,$ORIGIN";
        let linked = ["-shared", "-fPIC", "liballoc.so", origin];
        build(dir.path(), "libcaller.so", CALLER, &linked);
        for tags in ["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"] {
            let args = ["libcaller.so", "-Wl,-rpath-link,.", origin, tags];
            let program = build(dir.path(), "program", MAIN, &args);
            assert_eq!(own(&program, None), Some(called.clone()), "{tags}");
        }
    }

    #[test]
    fn an_allocator_without_malloc() {
        let dir = tempfile::tempdir().unwrap();
        build(
            dir.path(),
            "liballoc.so",
            ONLY_MALLOCX,
            &["-shared", "-fPIC"],
        );
        let main = "void *mallocx(unsigned long, int); int main(void) { return !mallocx(1, 0); }";
        let program = build(dir.path(), "program", main, &["liballoc.so"]);
        assert_eq!(own(&program, Some(dir.path().as_os_str())), None);
    }

    #[test]
    fn the_malloc_of_a_sanitizer() {
        let dir = tempfile::tempdir().unwrap();
        let main = "int main(void) { return 0; }";
        let program = build(dir.path(), "program", main, &["-fsanitize=address"]);
        let own = own(&program, None);
        assert!(matches!(own, Some(Own::Checked { .. })), "{own:?}");
    }
}
