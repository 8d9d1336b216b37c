//! Reasons that the library's report and the tools' give alike.

/// Up to so many bytes a heap is small.
pub const SMALL_HEAP_BYTES: usize = 16 << 20;

/// Why a small heap is on base pages.
pub const SMALL_HEAP: &str = "a small heap, up to 16 MiB, is on base pages";

/// Why some of a heap is that has grown and is huge else.
pub const HEAD_OF_HEAP: &str = "what a heap begins with, 16 to 20 MiB, is on base pages";

/// The most that a heap begins with: small still, it is asked for as much as an allocator
/// takes for blocks of one size.
const HEAD_BYTES: u64 = 20 << 20;

/// Of this size a heap is not small any more.
const GROWN_BYTES: u64 = 32 << 20;

/// Why so many bytes of a heap are on base pages that has fallen short of nothing, beside
/// those that are huge; `None` where that is more than a heap begins with.
pub fn of_head(base: u64, huge: u64) -> Option<&'static str> {
    match base {
        _ if base > HEAD_BYTES => None,
        _ if base > SMALL_HEAP_BYTES as u64 || huge > GROWN_BYTES => Some(HEAD_OF_HEAP),
        _ => Some(SMALL_HEAP),
    }
}

/// Why memory past malloc is.
pub const ITS_OWN: &str = "mapped by the program itself, not by malloc";

/// Why what is left of the program's own mappings is, where they were asked for.
pub const ANON_LEFT_ALONE: &str = "mappings below the length that --anon is for, those that the C library makes \
     (malloc's: --heap) or knows nothing of, and ends of others";

/// Why what is left of the main thread's stack is, where it was asked for.
pub const STACK_LEFT_ALONE: &str =
    "what lies in no whole huge page of the stack: its first 64 kB and more, and its end";

/// Why memory is that lies where malloc's of the C library would.
pub const PAST_MALLOC: &str = "taken by the program itself (brk), not by malloc";

/// Why the memory of a program is whose malloc stays as it is.
pub const OWN_ALLOCATOR: &str = "the program has its own allocator, which --heap does not reach";

/// Why shared memory is on base pages where nothing that was asked for fell short.
pub const SHM_LEFT_ALONE: &str =
    "smaller than a huge page, or in files of the program's own (memfd, /dev/shm)";

/// Why memory is on base pages that was asked for as transparent huge pages, which the
/// fallback rules out.
pub const RULED_OUT: &str = "--fallback=base rules transparent huge pages out";
