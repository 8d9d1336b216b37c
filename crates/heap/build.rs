//! Puts mimalloc's calls to the system on ours; see `src/wrap.rs`. The rest of
//! the link is arranged by the build script of `libhugetlbfs.so`.

const WRAPPED: [&str; 12] = [
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

fn main() {
    for name in WRAPPED {
        emit(&format!("cargo::rustc-cdylib-link-arg=-Wl,--wrap={name}"));
    }
    emit("cargo::rerun-if-changed=build.rs");
}

#[expect(clippy::print_stdout, reason = "this is how a build script speaks")]
fn emit(line: &str) {
    println!("{line}");
}
