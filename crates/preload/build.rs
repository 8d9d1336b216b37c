//! Arranges the link of the two libraries: no `DT_NEEDED`, no required versions of libc's symbols,
//! exports by `nodes.map`.
//!
//! rustc passes a version script, which can't be combined with ours, and links libc. So the linker
//! is a filter that drops both and runs the compiler's GNU ld, also when cross-compiling. The
//! arguments apply to the link of `libhugetlbfs_heap.so`, too.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's environment and writes its own files"
)]

use std::error::Error;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use assembly::{assemble, emit};

#[path = "build/assembly.rs"]
mod assembly;

const FILTER: &str = r#"#!/bin/sh
for argument do
    shift
    case $argument in
    --version-script=*/rustc*/list | -lc | -lm | -lrt | -lpthread | -lutil | -ldl | -lgcc*) ;;
    *) set -- "$@" "$argument" ;;
    esac
done
exec "${HUGETOOLS_LD:-@LD@}" "$@"
"#;

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    let source = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR")?);
    let filter = out.join("ld.bfd");
    fs::write(&filter, FILTER.replace("@LD@", &linker()))?;
    fs::set_permissions(&filter, fs::Permissions::from_mode(0o755))?;
    link_argument("-nostdlib");
    link_argument("-Wl,-soname,libhugetlbfs.so.0");
    link_argument(&format!("-B{}", out.display()));
    link_argument("-fuse-ld=bfd");
    // The table in which the library looks up its own symbols.
    link_argument("-Wl,--hash-style=gnu");
    let script = source.join("nodes.map");
    link_argument(&format!("-Wl,--version-script={}", script.display()));
    let files = ["src/words.s", "src/rt/marker.s"];
    assemble("hugetools_preload", &files)?;
    emit("cargo::rerun-if-changed=nodes.map");
    Ok(())
}

/// Returns the path of the compiler's GNU ld. The compiler prints the bare name of a program that
/// it doesn't have.
fn linker() -> String {
    let compiler = std::env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let answer = |name: &str| {
        let asked = format!("-print-prog-name={name}");
        let output = Command::new(&compiler).arg(asked).output().ok()?;
        let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        let is_there =
            Path::new(&path).is_absolute() && !path.contains(['\'', '"', '$', '`', '\\']);
        is_there.then_some(path)
    };
    ["ld.bfd", "ld"]
        .iter()
        .find_map(|name| answer(name))
        .unwrap_or_else(|| "ld".to_owned())
}

fn link_argument(argument: &str) {
    emit(&format!("cargo::rustc-cdylib-link-arg={argument}"));
}
