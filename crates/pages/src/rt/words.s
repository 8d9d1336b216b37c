/* Words that the loader fills with the address of a libc symbol, or null. Rust code declares
   them by `word!`; see `weak.rs`. */

.pushsection .data.rel.ro,"aw",@progbits
.balign 8

weak_word hugetools_environ, __environ
weak_word hugetools_register_atfork, __register_atfork
weak_word hugetools_pthread_atfork, pthread_atfork
weak_word hugetools_gnu_get_libc_version, gnu_get_libc_version

.popsection
.purgem weak_word
.purgem address_word

.pushsection .note.GNU-stack,"",@progbits
.popsection
