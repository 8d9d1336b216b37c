/* Words that the loader fills, as those of hugetools-pages. */

.pushsection .data.rel.ro,"aw",@progbits
.balign 8

/* What a sanitizer brings: for `host_malloc.rs`. */
weak_word hugetools_checker_malloc, __interceptor_malloc
weak_word hugetools_checker_calloc, __interceptor_calloc
weak_word hugetools_checker_realloc, __interceptor_realloc
weak_word hugetools_checker_memalign, __interceptor_memalign
weak_word hugetools_checker_free, __interceptor_free
weak_word hugetools_checker_usable_size, __interceptor_malloc_usable_size

/* For `host_malloc/next.rs`. */
weak_word hugetools_dlsym_heap, dlsym

/* libc's own, where the linker puts the wrappers in place of them: for `wrappers.rs`. */
weak_word hugetools_key_create, __real_pthread_key_create
weak_word hugetools_setspecific, __real_pthread_setspecific

.popsection
.purgem weak_word
.purgem address_word

.pushsection .note.GNU-stack,"",@progbits
.popsection
