//! Arranges the link of the two libraries: no other library needed, our own
//! list of names, no version of libc's symbols required.
//!
//! rustc passes a version script that exports by name and cannot be combined
//! with another one, and it links libc. So the linker is GNU ld behind a filter
//! that leaves both out. The arguments reach the link of
//! `libhugetlbfs_heap.so` too.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's environment and writes its own files"
)]

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

const FILTER: &str = r#"#!/bin/sh
for argument do
    shift
    case $argument in
    --version-script=*/rustc*/list | -lc | -lm | -lrt | -lpthread | -lutil | -ldl | -lgcc*) ;;
    *) set -- "$@" "$argument" ;;
    esac
done
exec "${HUGETOOLS_LD:-ld}" "$@"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let source = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let filter = out.join("ld.bfd");
    fs::write(&filter, FILTER)?;
    fs::set_permissions(&filter, fs::Permissions::from_mode(0o755))?;
    link_argument("-nostdlib");
    link_argument("-Wl,-soname,libhugetlbfs.so.0");
    link_argument(&format!("-B{}", out.display()));
    link_argument("-fuse-ld=bfd");
    let script = source.join("nodes.map");
    link_argument(&format!("-Wl,--version-script={}", script.display()));
    emit("cargo::rerun-if-changed=build.rs");
    emit("cargo::rerun-if-changed=nodes.map");
    Ok(())
}

fn link_argument(argument: &str) {
    emit(&format!("cargo::rustc-cdylib-link-arg={argument}"));
}

fn emit(line: &str) {
    println!("{line}");
}
