//! A part of the build script: links hugectl for a fast start.
//!
//! The loader and the C library take half of the start of a small program. So hugectl is static and
//! at a fixed address, if the compiler has a static C library. It has no privileges for address
//! randomisation to protect.
//!
//! The other tools need the unwinder, a shared library on glibc systems, although they abort on
//! panic and never call it. They contain the static one.
//!
//! Cargo cannot link a single binary statically. But a linker script with the name of a shared
//! library, in a directory that is searched first, selects the static library.

use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Libraries that Rust's standard library links with.
const LIBRARIES: [&str; 6] = ["c", "m", "rt", "pthread", "util", "dl"];

/// Tells cargo how to link the binaries.
pub(crate) fn for_fast_start() {
    let is_gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    let out = env::var_os("OUT_DIR").map(PathBuf::from);
    let Some(out) = out.filter(|_| is_gnu && !is_static) else {
        return;
    };
    if static_library("gcc_eh").is_none() {
        return;
    }
    let dir = out.join("unwinder");
    if write_script(&dir, "gcc_s", "-lgcc_eh -lgcc").is_ok() {
        println!("cargo::rustc-link-search=native={}", dir.display());
    }
    let dir = out.join("static");
    let select = |name: &&str| {
        // The C library calls libgcc, which Rust before 1.86 links too early: link it again.
        let library = static_library(name)?;
        write_script(&dir, name, &format!("{} -lgcc_eh -lgcc", library.display())).ok()
    };
    if LIBRARIES.iter().all(|name| select(name).is_some()) {
        for flag in [&format!("-L{}", dir.display()), "-static", "-no-pie"] {
            println!("cargo::rustc-link-arg-bin=hugectl={flag}");
        }
    }
}

fn write_script(dir: &Path, name: &str, libraries: &str) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    let script = format!("GROUP({libraries})\n");
    fs::write(dir.join(format!("lib{name}.so")), script)
}

/// Returns the compiler's static library. Without one, the compiler prints only the name.
fn static_library(name: &str) -> Option<PathBuf> {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let name = format!("-print-file-name=lib{name}.a");
    let output = Command::new(linker).arg(name).output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?;
    let path = PathBuf::from(path.trim());
    path.is_absolute().then_some(path)
}
