/* Words that the loader fills; see `crates/pages/src/rt/weak.rs`. */

.pushsection .data.rel.ro,"aw",@progbits
.balign 8

/* A sanitizer's malloc family: for `host_malloc.rs`. */
weak_word hugetools_checker_malloc, __interceptor_malloc
weak_word hugetools_checker_calloc, __interceptor_calloc
weak_word hugetools_checker_realloc, __interceptor_realloc
weak_word hugetools_checker_memalign, __interceptor_memalign
weak_word hugetools_checker_free, __interceptor_free
weak_word hugetools_checker_usable_size, __interceptor_malloc_usable_size

/* libc's functions behind the linker's `--wrap`: for `wrappers.rs`. */
weak_word hugetools_key_create, __real_pthread_key_create
weak_word hugetools_setspecific, __real_pthread_setspecific

.popsection
.purgem weak_word
.purgem address_word

.pushsection .note.GNU-stack,"",@progbits
.popsection
