//! Assembles `.s` files on powerpc64; elsewhere Rust includes them. Each of the three build scripts
//! includes this file.

use std::error::Error;
use std::fs;
use std::path::Path;

/// Prepended to each file.
const MACROS: &str = include_str!("../src/rt/word_macros.s");

/// Assembles files with the C compiler on powerpc64, where Rust has no assembly before 1.95.
pub(crate) fn assemble(library: &str, files: &[&str]) -> Result<(), Box<dyn Error>> {
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|machine| machine == "powerpc64") {
        let out = std::env::var("OUT_DIR")?;
        let mut build = cc::Build::new();
        for file in files {
            let whole = Path::new(&out).join(file.replace('/', "-"));
            fs::write(&whole, [MACROS, &fs::read_to_string(file)?].concat())?;
            build.file(whole);
            emit(&format!("cargo::rerun-if-changed={file}"));
        }
        build.compile(library);
    }
    emit("cargo::rerun-if-changed=build.rs");
    Ok(())
}

/// Prints a line for cargo.
pub(crate) fn emit(line: &str) {
    println!("{line}");
}
