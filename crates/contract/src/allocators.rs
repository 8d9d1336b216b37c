//! Names other than `malloc` and `free` by which programs call an allocator. If the allocator's
//! library also defines `malloc`, a program may free a malloc block by such a name, so it must keep
//! that malloc. Rare functions are left out: a program that calls one also calls a common one.
//!
//! hugectl searches for them before the start, the libraries in the running process.

use core::ffi::CStr;

/// The functions of one allocator that allocate, free or measure blocks.
#[derive(Debug)]
pub struct Allocator {
    /// A function that every build of this allocator defines.
    pub mark: &'static CStr,
    /// Its common functions, sorted.
    pub entry_points: &'static [&'static CStr],
}

/// The allocators that we recognise.
pub const ALLOCATORS: [Allocator; 6] = [
    // jemalloc
    Allocator {
        mark: c"mallocx",
        entry_points: &[c"dallocx", c"mallocx", c"rallocx", c"sdallocx", c"xallocx"],
    },
    // jemalloc with a prefix
    Allocator {
        mark: c"je_mallocx",
        entry_points: &[
            c"je_calloc",
            c"je_free",
            c"je_malloc",
            c"je_mallocx",
            c"je_posix_memalign",
            c"je_realloc",
        ],
    },
    Allocator {
        mark: c"tc_malloc",
        entry_points: &[
            c"tc_calloc",
            c"tc_delete",
            c"tc_free",
            c"tc_malloc",
            c"tc_new",
            c"tc_posix_memalign",
            c"tc_realloc",
        ],
    },
    // mimalloc
    Allocator {
        mark: c"mi_malloc",
        entry_points: &[
            c"mi_calloc",
            c"mi_free",
            c"mi_heap_malloc",
            c"mi_malloc",
            c"mi_malloc_aligned",
            c"mi_new",
            c"mi_realloc",
            c"mi_zalloc",
        ],
    },
    Allocator {
        mark: c"rpmalloc",
        entry_points: &[
            c"rpaligned_alloc",
            c"rpcalloc",
            c"rpfree",
            c"rpmalloc",
            c"rprealloc",
        ],
    },
    // TBB
    Allocator {
        mark: c"scalable_malloc",
        entry_points: &[
            c"scalable_aligned_free",
            c"scalable_aligned_malloc",
            c"scalable_calloc",
            c"scalable_free",
            c"scalable_malloc",
            c"scalable_realloc",
        ],
    },
];

impl Allocator {
    /// Returns the entry point of this name, if it is one of this allocator's.
    pub fn has(&self, name: &[u8]) -> Option<&'static CStr> {
        let entry_points = self.entry_points;
        let at = entry_points.binary_search_by(|known| known.to_bytes().cmp(name));
        at.ok().map(|at| entry_points[at])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_contain_the_mark() {
        for allocator in &ALLOCATORS {
            assert!(allocator.entry_points.is_sorted(), "{:?}", allocator.mark);
            let mark = allocator.has(allocator.mark.to_bytes());
            assert_eq!(mark, Some(allocator.mark));
            for name in [c"malloc", c"free", c"calloc", c"realloc", c""] {
                assert_eq!(allocator.has(name.to_bytes()), None);
            }
        }
    }
}
