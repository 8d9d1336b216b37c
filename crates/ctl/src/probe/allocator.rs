//! Programs that bring an allocator of their own.
//!
//! Where a program has a second door to its allocator, memory that one of the
//! two gives would be handed back to the other: such a program gets no heap of
//! ours.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use hugetools_contract::allocators::{ALLOCATORS, Allocator};
use hugetools_elf::{Elf, ElfError};

use crate::probe::dynamic_loader::dt_needed;
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
        /// Whether that allocator is jemalloc, which has a switch for huge pages.
        is_jemalloc: bool,
    },
    /// It was built with a sanitizer, whose library must know of every block.
    Checked {
        /// That library.
        by: PathBuf,
    },
    /// It cannot be told: the symbols of the program or of a library make no sense.
    Unread {
        /// The file that has them.
        by: PathBuf,
        /// What is wrong there.
        fault: String,
    },
}

impl Own {
    /// The fact, as a sentence about the program.
    pub(crate) fn fact(&self) -> String {
        match self {
            Own::Unread { .. } => {
                format!("whether the program has its own allocator cannot be told ({self})")
            }
            _ => format!("the program has its own allocator ({self})"),
        }
    }

    /// Whether its memory is known to come in mappings, or from the program break, so that
    /// `--anon` reaches it: jemalloc's, mimalloc's and tcmalloc's does.
    pub(crate) fn is_reached_by_anon(&self) -> bool {
        let Own::Called {
            symbol,
            is_jemalloc,
            ..
        } = self
        else {
            return false;
        };
        let mut known = ["je_", "mi_", "tc_"].into_iter();
        *is_jemalloc || known.any(|prefix| symbol.starts_with(prefix))
    }
}

impl fmt::Display for Own {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Own::Defined => f.write_str("it defines malloc itself"),
            Own::Called { symbol, by, .. } => write!(f, "{} calls {symbol}", by.display()),
            Own::Checked { by } => write!(f, "that of a sanitizer, {}", by.display()),
            Own::Unread { by, fault } => write!(f, "{}: {fault}", by.display()),
        }
    }
}

/// What the library of a sanitizer calls its own `malloc`.
const CHECKER: &str = "__interceptor_malloc";

/// `new` of C++: of one and of many, aligned, and without exceptions.
const NEW: [&str; 6] = [
    "_Znwm",
    "_Znam",
    "_ZnwmSt11align_val_t",
    "_ZnamSt11align_val_t",
    "_ZnwmRKSt9nothrow_t",
    "_ZnamRKSt9nothrow_t",
];

/// Libraries that are known to call no allocator by another name, so that most
/// programs need no look into any library.
const KNOWN: [&[u8]; 13] = [
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

/// A program whose allocators are looked for.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub(crate) program: &'a Path,
    pub(crate) elf: &'a Elf<File>,
    pub(crate) libc: Libc,
    /// `LD_LIBRARY_PATH`
    pub(crate) library_path: Option<&'a OsStr>,
}

/// Where a program's memory comes from, other than from libc.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Allocators {
    /// Why it keeps its own allocator.
    pub(crate) own: Option<Own>,
    /// What `new` of a C++ program is taken from, where that is a library which has
    /// an allocator of its own, and not the C++ library, which calls malloc.
    pub(crate) new: Option<PathBuf>,
}

/// Looks at a program and all the libraries that it needs. What cannot be
/// found or opened is passed over: the loader will complain itself.
pub(crate) fn find(subject: &Subject<'_>) -> Allocators {
    let mut all = Allocators::default();
    match defines(subject.program, subject.elf, "malloc") {
        Ok(false) => {}
        Ok(true) => all.own = Some(Own::Defined),
        Err(unread) => all.own = Some(unread),
    }
    if all.own.is_some() {
        return all;
    }
    let calls_new = OnceCell::new();
    let calls_new =
        || *calls_new.get_or_init(|| matches!(subject.elf.refers_to(&NEW), Ok(Some(_))));
    let mut found: Vec<&Allocator> = Vec::new();
    let told = subject.look(|by, elf| match of_library(by, elf) {
        Ok(library) => {
            found.extend(library.other_names);
            if all.new.is_none() && library.defines_new && calls_new() {
                all.new = Some(by.to_owned());
            }
            None
        }
        Err(own) => Some(own),
    });
    all.own = told.or_else(|| subject.called(&found));
    all
}

/// What there is to know of a library.
#[derive(Default)]
struct Library {
    /// The allocator with other names than malloc's that it has besides malloc.
    other_names: Option<&'static Allocator>,
    /// Whether it defines malloc and `new`.
    defines_new: bool,
}

/// Looks at a library.
///
/// # Errors
/// The reason for which a program with it keeps its allocator whatever else it has.
fn of_library(by: &Path, elf: &Elf<File>) -> Result<Library, Own> {
    if defines(by, elf, CHECKER)? {
        let by = by.to_owned();
        return Err(Own::Checked { by });
    }
    if !defines(by, elf, "malloc")? {
        return Ok(Library::default());
    }
    let mut library = Library::default();
    for allocator in &ALLOCATORS {
        let mark = allocator.mark.to_str().unwrap_or_default();
        if library.other_names.is_none() && defines(by, elf, mark)? {
            library.other_names = Some(allocator);
        }
    }
    for name in NEW {
        library.defines_new |= defines(by, elf, name)?;
    }
    Ok(library)
}

/// Whether a file defines a name.
fn defines(by: &Path, elf: &Elf<File>, name: &str) -> Result<bool, Own> {
    elf.defines(name).map_err(|error| unread(by, &error))
}

fn unread(by: &Path, error: &ElfError) -> Own {
    Own::Unread {
        by: by.to_owned(),
        fault: error.to_string(),
    }
}

impl Subject<'_> {
    /// Shows each library that is needed and not known.
    fn look<T>(&self, look: impl FnMut(&Path, &Elf<File>) -> Option<T>) -> Option<T> {
        let Subject {
            program,
            elf,
            libc,
            library_path,
        } = *self;
        dt_needed::find(program, elf, library_path, libc, &KNOWN, look)
    }

    /// Who calls one of the allocators that were found by another name.
    fn called(&self, found: &[&Allocator]) -> Option<Own> {
        if found.is_empty() {
            return None;
        }
        let is_jemalloc = found.iter().all(|allocator| allocator.mark == c"mallocx");
        let names = found.iter().flat_map(|allocator| allocator.entry_points);
        let names: Vec<&str> = names.filter_map(|name| name.to_str().ok()).collect();
        let called = |by: &Path, elf: &Elf<File>| match elf.refers_to(&names) {
            Ok(symbol) => symbol.map(|symbol| Own::Called {
                symbol,
                by: by.to_owned(),
                is_jemalloc,
            }),
            Err(error) => Some(unread(by, &error)),
        };
        called(self.program, self.elf).or_else(|| self.look(called))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files;
    use std::os::unix::fs::FileExt;
    use std::process::Command;

    const DOOR: &str = "void *malloc(unsigned long n) { (void)n; return 0; } \
                        void *mallocx(unsigned long n, int f) { (void)n; (void)f; return 0; }";
    /// An allocator besides the program's malloc.
    const BESIDE: &str = "void *mallocx(unsigned long n, int f) { (void)n; (void)f; return 0; }";
    const CALLER: &str =
        "void *mallocx(unsigned long, int); void *make(void) { return mallocx(1, 0); }";
    const MAIN: &str = "void *make(void); int main(void) { return make() != 0; }";
    const OWN: &str = "static char pool[64]; void *malloc(unsigned long n) { (void)n; return pool; } \
                       void free(void *p) { (void)p; } int main(void) { return 0; }";

    fn find(program: &Path, library_path: Option<&OsStr>) -> Allocators {
        super::find(&Subject {
            program,
            elf: &files::open_elf(program).unwrap(),
            libc: Libc::Glibc,
            library_path,
        })
    }

    fn own(program: &Path, library_path: Option<&OsStr>) -> Option<Own> {
        find(program, library_path).own
    }

    fn build(dir: &Path, name: &str, source: &str, args: &[&str]) -> PathBuf {
        use std::io::Write;
        let input = dir.join(format!("{name}.c"));
        std::fs::File::create(&input)
            .unwrap()
            .write_all(source.as_bytes())
            .unwrap();
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

    /// Where the section headers are gone, which lead to them.
    #[test]
    fn symbols_that_cannot_be_found_are_no_answer() {
        let dir = tempfile::tempdir().unwrap();
        let program = build(dir.path(), "program", OWN, &["-rdynamic"]);
        let file = File::options().write(true).open(&program).unwrap();
        // `e_shoff` of a 64-bit file.
        file.write_all_at(&[0; 8], 40).unwrap();
        let found = own(&program, None);
        assert!(matches!(found, Some(Own::Unread { .. })), "{found:?}");
        let fact = found.unwrap().fact();
        assert!(
            fact.contains("cannot be told") && fact.contains("section header table"),
            "{fact}"
        );
    }

    #[test]
    fn a_second_door_in_a_library_of_a_library() {
        let dir = tempfile::tempdir().unwrap();
        let library = ["-shared", "-fPIC"];
        build(dir.path(), "libdoor.so", DOOR, &library);
        build(
            dir.path(),
            "libcaller.so",
            CALLER,
            &["-shared", "-fPIC", "libdoor.so"],
        );
        let args = ["libcaller.so", "-Wl,-rpath-link,."];
        let program = build(dir.path(), "program", MAIN, &args);
        let called = Own::Called {
            symbol: "mallocx",
            by: dir.path().join("libcaller.so"),
            is_jemalloc: true,
        };
        let path = Some(dir.path().as_os_str());
        assert_eq!(own(&program, path), Some(called.clone()));
        // Without the path the library is not found, as the loader would say.
        assert_eq!(own(&program, None), None);
        let origin = "-Wl,-rpath,$ORIGIN";
        let args = ["-shared", "-fPIC", "libdoor.so", origin];
        build(dir.path(), "libcaller.so", CALLER, &args);
        for tags in ["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"] {
            let args = ["libcaller.so", "-Wl,-rpath-link,.", origin, tags];
            let program = build(dir.path(), "program", MAIN, &args);
            assert_eq!(own(&program, None), Some(called.clone()), "{tags}");
        }
    }

    #[test]
    fn a_library_with_a_new_of_its_own() {
        let dir = tempfile::tempdir().unwrap();
        let library = "void *malloc(unsigned long n) { (void)n; return 0; } \
                       void *_Znwm(unsigned long n) { (void)n; return 0; } \
                       void *_Znam(unsigned long n) { (void)n; return 0; }";
        build(dir.path(), "libjemalloc.so", library, &["-shared", "-fPIC"]);
        let path = Some(dir.path().as_os_str());
        // Of one and of many: a program may have only either.
        let of = |new: &str| {
            let main =
                format!("void *{new}(unsigned long); int main(void) {{ return !{new}(1); }}");
            build(dir.path(), "program", &main, &["libjemalloc.so"])
        };
        for new in ["_Znwm", "_Znam"] {
            let found = find(&of(new), path).new;
            assert_eq!(found, Some(dir.path().join("libjemalloc.so")), "{new}");
        }
        let program = of("_Znwm");
        let only = "void *_Znwm(unsigned long n) { (void)n; return 0; }";
        build(dir.path(), "libjemalloc.so", only, &["-shared", "-fPIC"]);
        assert_eq!(find(&program, path).new, None);
    }

    #[test]
    fn an_allocator_that_leaves_malloc_alone() {
        let dir = tempfile::tempdir().unwrap();
        let library = ["-shared", "-fPIC"];
        build(dir.path(), "libbeside.so", BESIDE, &library);
        let main = "void *mallocx(unsigned long, int); int main(void) { return !mallocx(1, 0); }";
        let program = build(dir.path(), "program", main, &["libbeside.so"]);
        let path = Some(dir.path().as_os_str());
        assert_eq!(own(&program, path), None);
    }

    #[test]
    fn the_malloc_of_a_sanitizer() {
        let dir = tempfile::tempdir().unwrap();
        let main = "int main(void) { return 0; }";
        let program = build(dir.path(), "program", main, &["-fsanitize=address"]);
        let own = own(&program, None);
        assert!(matches!(own, Some(Own::Checked { .. })), "{own:?}");
    }

    #[test]
    fn reasons_name_the_file_and_the_symbol() {
        let called = Own::Called {
            symbol: "tc_malloc",
            by: PathBuf::from("/lib/x.so"),
            is_jemalloc: false,
        };
        assert_eq!(called.to_string(), "/lib/x.so calls tc_malloc");
        let by = PathBuf::from("/lib/libasan.so.8");
        assert_eq!(
            Own::Checked { by }.to_string(),
            "that of a sanitizer, /lib/libasan.so.8"
        );
    }
}
