//! A part of the build script: links hugectl for a fast start.
//!
//! hugectl is not position-independent. The loader would have to relocate 300 kB of pointers
//! at each start, a tenth of it. It has no rights that address randomisation could protect.
//!
//! Rust's library references the unwinder, a shared library on glibc systems. Loading it
//! takes a tenth of hugectl's start, and a tool that aborts on panic never calls it. So a
//! linker script of the shared library's name selects the static unwinder. It also
//! selects the compiler's own library, which contains the atomics on aarch64.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Tells cargo to link hugectl at a fixed address, and the unwinder statically if the
/// compiler has it.
pub(crate) fn for_fast_start() {
    let is_gnu = env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    let features = env::var("CARGO_CFG_TARGET_FEATURE").unwrap_or_default();
    let is_static = features.split(',').any(|feature| feature == "crt-static");
    let Some(out) = env::var_os("OUT_DIR").map(PathBuf::from) else {
        return;
    };
    if !is_gnu || is_static {
        return;
    }
    println!("cargo::rustc-link-arg-bin=hugectl=-no-pie");
    if !has_static_unwinder() {
        return;
    }
    let dir = out.join("unwinder");
    let written = fs::create_dir_all(&dir)
        .and_then(|()| fs::write(dir.join("libgcc_s.so"), "GROUP(-lgcc_eh -lgcc)\n"));
    if written.is_ok() {
        println!("cargo::rustc-link-search=native={}", dir.display());
    }
}

/// Asks the compiler for the static unwinder. It prints a path, or only the name if it
/// has none.
fn has_static_unwinder() -> bool {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let output = Command::new(linker)
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    output.is_ok_and(|output| {
        let path = String::from_utf8_lossy(&output.stdout);
        Path::new(path.trim()).is_absolute()
    })
}
