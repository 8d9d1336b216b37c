//! Functions by which programs call an allocator other than `malloc` and `free`. If a
//! library defines both kinds, a block from one may be freed by the other. Such a program
//! must keep its own malloc. Rare functions are left out: a program that calls one also
//! calls a common one.
//!
//! hugectl searches for these functions before the start, the libraries in the running
//! process.

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
    // jemalloc.
    Allocator {
        mark: c"mallocx",
        entry_points: &[
            c"dallocx",
            c"mallocx",
            c"nallocx",
            c"rallocx",
            c"sallocx",
            c"sdallocx",
            c"xallocx",
        ],
    },
    // jemalloc, built with a prefix.
    Allocator {
        mark: c"je_mallocx",
        entry_points: &[
            c"je_aligned_alloc",
            c"je_calloc",
            c"je_dallocx",
            c"je_free",
            c"je_malloc",
            c"je_malloc_usable_size",
            c"je_mallocx",
            c"je_memalign",
            c"je_posix_memalign",
            c"je_rallocx",
            c"je_realloc",
            c"je_sdallocx",
        ],
    },
    // tcmalloc.
    Allocator {
        mark: c"tc_malloc",
        entry_points: &[
            c"MallocExtension_GetOwnership",
            c"malloc_size",
            c"tc_calloc",
            c"tc_delete",
            c"tc_deletearray",
            c"tc_free",
            c"tc_malloc",
            c"tc_malloc_size",
            c"tc_memalign",
            c"tc_new",
            c"tc_newarray",
            c"tc_posix_memalign",
            c"tc_realloc",
            c"tc_valloc",
        ],
    },
    // mimalloc.
    Allocator {
        mark: c"mi_malloc",
        entry_points: &[
            c"mi_calloc",
            c"mi_free",
            c"mi_free_size",
            c"mi_heap_malloc",
            c"mi_heap_zalloc",
            c"mi_malloc",
            c"mi_malloc_aligned",
            c"mi_malloc_small",
            c"mi_mallocn",
            c"mi_new",
            c"mi_posix_memalign",
            c"mi_realloc",
            c"mi_strdup",
            c"mi_usable_size",
            c"mi_zalloc",
        ],
    },
    // rpmalloc.
    Allocator {
        mark: c"rpmalloc",
        entry_points: &[
            c"rpaligned_alloc",
            c"rpaligned_calloc",
            c"rpaligned_realloc",
            c"rpcalloc",
            c"rpfree",
            c"rpmalloc",
            c"rpmalloc_usable_size",
            c"rpmemalign",
            c"rpposix_memalign",
            c"rprealloc",
        ],
    },
    // The allocator of TBB.
    Allocator {
        mark: c"scalable_malloc",
        entry_points: &[
            c"scalable_aligned_free",
            c"scalable_aligned_malloc",
            c"scalable_aligned_realloc",
            c"scalable_calloc",
            c"scalable_free",
            c"scalable_malloc",
            c"scalable_msize",
            c"scalable_posix_memalign",
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
