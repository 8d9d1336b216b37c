//! The C interface: programs that are linked with `-lhugetlbfs`.

mod header;
mod libhugetlbfs;
mod memory;
mod order;
mod variables;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use crate::support::bless::project;
use crate::support::libhugetlbfs::is_installed;
use crate::support::program::{Libc, build_as};
use crate::support::tool::Ran;

/// The header and the library that a program is built with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Built {
    /// Ours.
    Here,
    /// Those of Debian's libhugetlbfs-dev 2.23.
    ByDebian,
}

/// The library that a program runs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum With {
    /// libhugetlbfs.so
    Ours,
    /// libhugetlbfs_heap.so in its place.
    Heap,
    /// The system's, or that of the program's RUNPATH.
    System,
}

impl With {
    /// Returns a directory with links to the library; `None` for [`With::System`].
    fn place(self) -> Option<PathBuf> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let (name, file) = match self {
            With::Ours => ("ours", env!("HUGETOOLS_PRELOAD")),
            With::Heap => ("heap", env!("HUGETOOLS_HEAP")),
            With::System => return None,
        };
        let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
        let place = tmp.join(format!("api-{name}-{}", env!("HUGETOOLS_DIGEST")));
        fs::create_dir_all(&place).unwrap();
        for link in ["libhugetlbfs.so", "libhugetlbfs.so.0"] {
            let link = place.join(link);
            // Replaced atomically: programs of other tests use it.
            if !fs::read_link(&link).is_ok_and(|to| to == Path::new(file)) {
                let new = link.with_extension("new");
                let _ = fs::remove_file(&new);
                symlink(file, &new).unwrap();
                fs::rename(&new, &link).unwrap();
            }
        }
        Some(place)
    }
}

/// Whether Debian's libhugetlbfs-dev 2.23 is installed; otherwise reports a skipped test.
fn debian_is_here(test: &str) -> bool {
    is_installed(test, "libhugetlbfs-dev")
}

/// Builds a program of `tests/programs` with the header and the library of `built`.
fn program(name: &str, built: Built, libc: Libc) -> Option<PathBuf> {
    let include = format!("-I{}", project("crates/preload/include").display());
    let place = format!("-L{}", With::Ours.place()?.display());
    let mut flags = match built {
        Built::Here => vec![include.as_str(), place.as_str()],
        Built::ByDebian => vec![],
    };
    flags.extend(["-Wl,--no-as-needed", "-lhugetlbfs"]);
    build_as(&format!("{name}-{built:?}-{libc:?}"), name, libc, &flags)
}

/// Runs a program with only these variables.
fn run(program: &Path, with: With, variables: &[(&str, &str)], args: &[&str]) -> Ran {
    let mut command = Command::new(program);
    command.env_clear().args(args);
    command.envs(variables.iter().copied());
    if let Some(place) = with.place() {
        command.env("LD_LIBRARY_PATH", place);
    }
    let output = command.output().unwrap();
    assert!(
        output.status.code().is_some(),
        "{program:?} {with:?} {variables:?} {args:?}: {output:?}"
    );
    output.into()
}
