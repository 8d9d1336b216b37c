/* The exported marker of our libraries; see `marker.rs`. */

.pushsection .data.rel.ro,"aw",@progbits
.balign 8

.globl __hugetools_library
.type __hugetools_library, @object
.size __hugetools_library, 8
__hugetools_library:
    .8byte 1

/* The address to which the loader binds the name: the first copy's marker. */
.globl hugetools_marker_seen
.hidden hugetools_marker_seen
hugetools_marker_seen:
    .8byte __hugetools_library

/* This copy's marker. */
.globl hugetools_marker_here
.hidden hugetools_marker_here
.set hugetools_marker_here, __hugetools_library

/* Nonzero in libhugetlbfs_heap.so, 0 in libhugetlbfs.so. */
.weak hugetools_heap
.hidden hugetools_heap
.globl hugetools_heap_seen
.hidden hugetools_heap_seen
hugetools_heap_seen:
    .8byte hugetools_heap

.popsection

.pushsection .note.GNU-stack,"",@progbits
.popsection
