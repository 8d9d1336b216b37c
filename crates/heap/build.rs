//! Compiles `options.c` with mimalloc's header (`libmimalloc-sys` compiles mimalloc itself). Wraps
//! some functions of libc (`src/wrappers.rs`). The build script of `libhugetlbfs.so` arranges the
//! rest of the link.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's environment"
)]

use std::error::Error;

use assembly::{assemble, emit};

#[path = "build/assembly.rs"]
mod assembly;

const WRAPPED: [&str; 7] = [
    "clock_gettime",
    "prctl",
    "pthread_key_create",
    "pthread_key_delete",
    "pthread_mutex_lock",
    "pthread_mutex_unlock",
    "pthread_setspecific",
];

fn main() -> Result<(), Box<dyn Error>> {
    let include = std::env::var("DEP_MIMALLOC_INCLUDE_DIR")?;
    cc::Build::new()
        .file("options.c")
        .include(include)
        .flag_if_supported("-fvisibility=hidden")
        .pic(true)
        .compile("hugetools_options");
    emit("cargo::rerun-if-changed=options.c");
    assemble("hugetools_heap", &["src/words.s"])?;
    for name in WRAPPED {
        emit(&format!("cargo::rustc-cdylib-link-arg=-Wl,--wrap={name}"));
    }
    Ok(())
}
