/* Words that the loader fills; see `crates/pages/src/rt/weak.rs`. */

.pushsection .data.rel.ro,"aw",@progbits
.balign 8

/* The public functions as the process sees them, possibly the program's own: for `api/calls.rs`. */
address_word hugetools_gethugepagesize, gethugepagesize
address_word hugetools_gethugepagesizes, gethugepagesizes
address_word hugetools_getpagesizes, getpagesizes
address_word hugetools_reset, __tp_kernel_default_hugepage_size_reset
address_word hugetools_test_path, hugetlbfs_test_path
address_word hugetools_find_path, hugetlbfs_find_path
address_word hugetools_find_path_for_size, hugetlbfs_find_path_for_size
address_word hugetools_unlinked_fd, hugetlbfs_unlinked_fd
address_word hugetools_unlinked_fd_for_size, hugetlbfs_unlinked_fd_for_size
address_word hugetools_get_huge_pages, get_huge_pages
address_word hugetools_free_huge_pages, free_huge_pages
address_word hugetools_get_hugepage_region, get_hugepage_region
address_word hugetools_free_hugepage_region, free_hugepage_region
address_word hugetools_next_touch, huge_next_touch
address_word hugetools_cachecolor, cachecolor

/* A sanitizer's malloc: for `loader/host_malloc.rs`. */
weak_word hugetools_checker, __interceptor_malloc

/* For `next.rs`. */
weak_word hugetools_dlsym, dlsym

/* Defined by libhugetlbfs_heap.so: for `dlopen.rs`. */
.hidden hugetools_bind_malloc
weak_word hugetools_bind_malloc_word, hugetools_bind_malloc

.popsection
.purgem weak_word
.purgem address_word

.pushsection .note.GNU-stack,"",@progbits
.popsection
