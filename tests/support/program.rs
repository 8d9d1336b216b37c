//! C and C++ programs from `tests/programs`, built once for each libc and set of flags.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

use super::bless::project;
use super::live::skip;

/// The libc of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Libc {
    /// The system's compiler.
    Glibc,
    /// `musl-gcc`.
    Musl,
}

impl Libc {
    /// Both libcs.
    pub(crate) const ALL: [Libc; 2] = [Libc::Glibc, Libc::Musl];

    fn compiler(self) -> &'static str {
        match self {
            Libc::Glibc => "cc",
            Libc::Musl => "musl-gcc",
        }
    }
}

/// Builds a program; without the compiler, reports a skipped test.
pub(crate) fn build(name: &str, libc: Libc, flags: &[&str]) -> Option<PathBuf> {
    let words: String = flags.concat().replace(['/', ' '], "");
    build_as(&format!("{name}-{libc:?}{words}"), name, libc, flags)
}

/// Builds a program under another name: flags may be too long for a file name.
pub(crate) fn build_as(new: &str, name: &str, libc: Libc, flags: &[&str]) -> Option<PathBuf> {
    // Each program is built once, since a running executable cannot be overwritten.
    static BUILT: Mutex<BTreeMap<String, Arc<Mutex<bool>>>> = Mutex::new(BTreeMap::new());
    let all = BUILT.lock();
    let this = Arc::clone(
        all.unwrap_or_else(PoisonError::into_inner)
            .entry(new.to_owned())
            .or_default(),
    );
    let mut is_built = this.lock().unwrap_or_else(PoisonError::into_inner);
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("programs");
    std::fs::create_dir_all(&dir).unwrap();
    let program = dir.join(new.replace('/', "-"));
    if *is_built {
        return Some(program);
    }
    let c = project("tests/programs").join(format!("{name}.c"));
    let (source, compiler) = match c.exists() {
        true => (c, libc.compiler()),
        false => (c.with_extension("cc"), "c++"),
    };
    let mut command = Command::new(compiler);
    command
        .args(["-O2", "-Wall", "-Werror", "-pthread"])
        .args(flags);
    command.arg(source).arg("-o").arg(&program);
    match command.output() {
        Ok(output) if output.status.success() => {
            *is_built = true;
            Some(program)
        }
        Ok(output) => panic!("{name}: {}", String::from_utf8_lossy(&output.stderr)),
        Err(error) => skip(name, &format!("{compiler}: {error}")),
    }
}
