//! Assembles the `.s` files with the C compiler where Rust can't.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's environment and writes its own files"
)]

use std::error::Error;

#[path = "build/assembly.rs"]
mod assembly;

fn main() -> Result<(), Box<dyn Error>> {
    let files = ["src/rt/words.s", "src/sys/powerpc64le.s"];
    assembly::assemble("hugetools_pages", &files)
}
