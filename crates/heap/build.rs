//! Puts mimalloc's calls to the system on ours (see `src/wrap.rs`) and leaves
//! its constructor out. The rest of the link is arranged by the build script
//! of `libhugetlbfs.so`.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's environment"
)]

use std::env::VarError;

const WRAPPED: [&str; 13] = [
    "clock_gettime",
    "madvise",
    "mmap",
    "mprotect",
    "munmap",
    "prctl",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_mutex_destroy",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_setspecific",
    "sleep",
];

fn main() -> Result<(), VarError> {
    let source = std::env::var("CARGO_MANIFEST_DIR")?;
    emit(&format!(
        "cargo::rustc-cdylib-link-arg=-Wl,-T,{source}/no-start.ld"
    ));
    for name in WRAPPED {
        emit(&format!("cargo::rustc-cdylib-link-arg=-Wl,--wrap={name}"));
    }
    emit("cargo::rerun-if-changed=build.rs");
    emit("cargo::rerun-if-changed=no-start.ld");
    Ok(())
}

fn emit(line: &str) {
    println!("{line}");
}
