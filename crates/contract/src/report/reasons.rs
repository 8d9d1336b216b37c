//! Texts that say why memory is on base pages, shared by the library and the tools.

/// Maximum size of a small heap in bytes. A small heap may stay on base pages.
pub const SMALL_HEAP_BYTES: usize = 16 << 20;

/// A small heap is on base pages.
pub const SMALL_HEAP: &str = "a heap up to 16 MiB may stay on base pages";

/// The first part of a large heap is on base pages.
pub const HEAD_OF_HEAP: &str = "the first 6 to 20 MiB of a heap stay on base pages";

/// Maximum size in bytes of that part: a small heap, and a margin for the first small blocks of
/// each thread.
const HEAD_BYTES_MAX: u64 = 20 << 20;

/// Returns why a heap has `base` bytes on base pages and `huge` bytes on huge pages although no
/// request failed. Returns `None` if `base` is more than a heap's first part.
pub fn of_head(base: u64, huge: u64) -> Option<&'static str> {
    match base {
        _ if base > HEAD_BYTES_MAX => None,
        _ if base > SMALL_HEAP_BYTES as u64 || huge > 0 => Some(HEAD_OF_HEAP),
        _ => Some(SMALL_HEAP),
    }
}

/// Memory that malloc didn't map.
pub const ITS_OWN: &str = "mapped by the program itself, not by malloc";

/// Mappings of the program that `--anon` leaves on base pages.
pub const ANON_LEFT_ALONE: &str =
    "short mappings, unaligned ends, and mappings of libc or by raw system calls";

/// The part of the main thread's stack that `--stack` leaves on base pages.
pub const STACK_LEFT_ALONE: &str =
    "the start of the stack and its unaligned ends stay on base pages";

/// Memory that the program itself allocated with `brk`.
pub const PAST_MALLOC: &str = "taken by the program itself (brk), not by malloc";

/// Memory of a program that keeps its own malloc.
pub const OWN_ALLOCATOR: &str = "the program has its own allocator, which --heap does not replace";

/// The part of text, data or bss outside whole huge pages.
pub const EDGES: &str = "its unaligned ends stay on base pages; ld.hugetlbfs(1) aligns them";

/// Shared memory on base pages although no request failed.
pub const SHM_LEFT_ALONE: &str =
    "smaller than a huge page, or in the program's own files (memfd, shm_open, tmpfs)";

/// The fallback excludes the requested transparent huge pages.
pub const RULED_OUT: &str = "--fallback=base rules transparent huge pages out";
