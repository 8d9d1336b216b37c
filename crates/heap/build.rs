//! Compiles mimalloc from its crate's sources (see `mimalloc.c`), with a few words
//! changed, puts its calls to the system on ours (see `src/hooks/wrap.rs`) and leaves its
//! constructor out. The rest of the link is arranged by the build script of
//! `libhugetlbfs.so`.
#![expect(
    clippy::disallowed_methods,
    reason = "a build script reads cargo's environment"
)]

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use assembly::{assemble, emit};

#[path = "../pages/build/assembly.rs"]
mod assembly;

const WRAPPED: [&str; 16] = [
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
    "sysconf",
    "sysinfo",
    "syscall",
];

/// What of these `libhugetlbfs.so` exports. The linker takes a reference to such a
/// name for one to its wrapper, so that nothing else might bring in the part that
/// has it.
const EXPORTED: [&str; 6] = ["madvise", "mmap", "mprotect", "munmap", "prctl", "syscall"];

/// A file of mimalloc's, what is changed in it, and into what.
type Change = (&'static str, &'static str, &'static str);

/// What makes room for the classes of `classes.h`, and takes those of mimalloc out;
/// and what asks for more room on a node before taking what another node has freed.
/// What mimalloc would count for each class is left out: what a thread has of the
/// heap must not be larger than 8 KiB.
const CHANGES: [Change; 11] = [
    (
        "include/mimalloc-stats.h",
        "#define MI_BIN_HUGE             (73U)",
        "#define MI_BIN_HUGE             (178U)",
    ),
    (
        "include/mimalloc-stats.h",
        "malloc_bins[MI_BIN_HUGE+1];",
        "malloc_bins[1];",
    ),
    (
        "include/mimalloc-stats.h",
        "page_bins[MI_BIN_HUGE+1];",
        "page_bins[1];",
    ),
    (
        "include/mimalloc/types.h",
        "#if MI_BIN_HUGE != 73U",
        "#if MI_BIN_HUGE != 178U",
    ),
    (
        "include/mimalloc/types.h",
        "#define MI_LARGE_MAX_OBJ_SIZE             (MI_LARGE_PAGE_SIZE/8)",
        "#define MI_LARGE_MAX_OBJ_SIZE             (33*32*MI_KiB)",
    ),
    (
        "src/init.c",
        "#define MI_PAGE_QUEUES_EMPTY",
        "#define MIMALLOCS_QUEUES_EMPTY",
    ),
    (
        "src/alloc.c",
        "void* newp = mi_theap_umalloc(theap,newsize,usable_post);",
        "void* newp = mi_theap_umalloc(theap,with_room_to_grow(size,newsize),usable_post);",
    ),
    (
        "src/page.c",
        "!mi_page_queue_is_special(pq)) {  // not full or huge queue?",
        "is_kept_ready(pq)) {",
    ),
    (
        "src/page.c",
        "MI_RETIRE_CYCLES : MI_RETIRE_CYCLES/4)",
        "MI_RETIRE_CYCLES : MI_RETIRE_CYCLES)",
    ),
    (
        "src/page-queue.c",
        "static mi_decl_noinline size_t mi_bin(size_t size) {",
        "static size_t mimallocs_bin(size_t size) {",
    ),
    (
        "src/arena.c",
        "  if (numa_node < 0) return NULL;\n",
        "  if (numa_node < 0) return NULL;\n\
         \x20 if (req_arena == NULL && hugetools_makes_room(numa_node)) {\n\
         \x20   mi_forall_suitable_arenas(heap, req_arena, tseq, true, numa_node, allow_large, arena)\n\
         \x20   {\n\
         \x20     void* p = mi_arena_try_alloc_at(arena, slice_count, commit, tseq, memid);\n\
         \x20     if (p != NULL) return p;\n\
         \x20   }\n\
         \x20   mi_forall_suitable_arenas_end();\n\
         \x20 }\n",
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let include = PathBuf::from(std::env::var("DEP_MIMALLOC_INCLUDE_DIR")?);
    let changed = PathBuf::from(std::env::var("OUT_DIR")?).join("mimalloc");
    for part in ["include", "src"] {
        copy(&include.with_file_name(part), &changed.join(part))?;
    }
    CHANGES.iter().try_for_each(|it| change(&changed, it))?;
    compile_mimalloc(&changed);
    assemble("hugetools_heap", &["src/words.s"])?;
    let source = std::env::var("CARGO_MANIFEST_DIR")?;
    emit(&format!(
        "cargo::rustc-cdylib-link-arg=-Wl,-T,{source}/no-start.ld"
    ));
    for name in WRAPPED {
        emit(&format!("cargo::rustc-cdylib-link-arg=-Wl,--wrap={name}"));
    }
    for name in EXPORTED {
        emit(&format!(
            "cargo::rustc-cdylib-link-arg=-Wl,--undefined={name}"
        ));
    }
    for file in [
        "mimalloc.c",
        "classes.h",
        "finding.c",
        "slices.c",
        "spares.c",
        "torn.c",
    ] {
        emit(&format!("cargo::rerun-if-changed={file}"));
    }
    emit("cargo::rerun-if-changed=no-start.ld");
    Ok(())
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let new = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &new)?;
        } else {
            // Not `fs::copy`: a crate's files may be read-only.
            fs::write(&new, fs::read(entry.path())?)?;
        }
    }
    Ok(())
}

/// Makes a change at the one place where it is to be made.
fn change(root: &Path, (file, from, to): &Change) -> Result<(), Box<dyn Error>> {
    let path = root.join(file);
    let text = fs::read_to_string(&path)?;
    if text.matches(from).count() != 1 {
        let path = path.display();
        return Err(format!("{path}: {from:?} is not there once: see CHANGES in build.rs").into());
    }
    fs::write(&path, text.replace(from, to))?;
    Ok(())
}

/// With the settings of its crate's own build.
fn compile_mimalloc(sources: &Path) {
    cc::Build::new()
        .file("mimalloc.c")
        .include(sources.join("include"))
        .include(sources.join("src"))
        .flag_if_supported("-ftls-model=initial-exec")
        .flag_if_supported("-fvisibility=hidden")
        .flag("-Wno-error=date-time")
        // As gcc 14 has it without being asked: no older one passes what that refuses.
        .flag("-Werror=implicit-function-declaration")
        .flag("-Werror=int-conversion")
        .flag("-Werror=incompatible-pointer-types")
        .define("MI_DEBUG", "0")
        .define("MI_BUILD_RELEASE", None)
        .define("NDEBUG", None)
        .opt_level(3)
        .pic(true)
        // Not `warnings(false)`, by which older compilers pass what newer ones refuse.
        .extra_warnings(false)
        .flag("-Wno-all")
        .compile("hugetools_mimalloc");
}
