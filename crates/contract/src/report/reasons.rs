//! Reasons for base pages that the library and the tools word alike.

/// Maximum size of a small heap in bytes; it stays on base pages.
pub const SMALL_HEAP_BYTES: usize = 16 << 20;

/// A small heap is on base pages.
pub const SMALL_HEAP: &str = "a heap up to 16 MiB is on base pages";

/// A part of a large heap is on base pages.
pub const HEAD_OF_HEAP: &str = "the first 6 to 20 MiB are on base pages";

/// Maximum size in bytes of that part: a small heap may exceed its limit by the chunk of one size
/// class.
const HEAD_BYTES_MAX: u64 = 20 << 20;

/// With more bytes than this on huge pages, a heap certainly is not small.
const LARGE_HEAP_BYTES: u64 = 32 << 20;

/// Returns why `base` bytes of a heap are on base pages next to `huge` bytes on huge pages, if no
/// request failed. Returns `None` if the first part of the heap does not explain so many.
pub fn of_head(base: u64, huge: u64) -> Option<&'static str> {
    match base {
        _ if base > HEAD_BYTES_MAX => None,
        _ if base > SMALL_HEAP_BYTES as u64 || huge > LARGE_HEAP_BYTES => Some(HEAD_OF_HEAP),
        _ => Some(SMALL_HEAP),
    }
}

/// Memory that malloc didn't map.
pub const ITS_OWN: &str = "mapped by the program itself, not by malloc";

/// Mappings of the program that `--anon` leaves on base pages.
pub const ANON_LEFT_ALONE: &str =
    "short mappings, unaligned ends, and mappings of libc or by raw system calls";

/// The part of the main thread's stack that `--stack` leaves on base pages.
pub const STACK_LEFT_ALONE: &str = "outside the whole huge pages of the stack";

/// Memory that the program took with `brk`, next to malloc's.
pub const PAST_MALLOC: &str = "taken by the program itself (brk), not by malloc";

/// The memory of a program that keeps its own malloc.
pub const OWN_ALLOCATOR: &str = "it has its own allocator, which --heap does not reach";

/// The part of text, data or bss outside whole huge pages.
pub const EDGES: &str = "its unaligned ends stay on base pages; ld.hugetlbfs(1) aligns them";

/// Shared memory on base pages although no request failed.
pub const SHM_LEFT_ALONE: &str = "smaller than a huge page, or in the program's own files";

/// The fallback excludes the requested transparent huge pages.
pub const RULED_OUT: &str = "--fallback=base rules transparent huge pages out";
