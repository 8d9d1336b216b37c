/* The marker of a library of ours, which all copies in a process see; see
   `marker.rs`. */

.pushsection .data.rel.ro,"aw",@progbits
.balign 8

.globl __hugetools_library
.type __hugetools_library, @object
.size __hugetools_library, 8
__hugetools_library:
    .8byte 1

/* What the name means to everybody: the first copy's marker. */
.globl hugetools_marker_seen
.hidden hugetools_marker_seen
hugetools_marker_seen:
    .8byte __hugetools_library

/* Our own marker, whatever the name means. */
.globl hugetools_marker_here
.hidden hugetools_marker_here
.set hugetools_marker_here, __hugetools_library

/* Filled by libhugetlbfs_heap.so, null in libhugetlbfs.so. */
.weak hugetools_heap
.hidden hugetools_heap
.globl hugetools_heap_seen
.hidden hugetools_heap_seen
hugetools_heap_seen:
    .8byte hugetools_heap

.popsection

.pushsection .note.GNU-stack,"",@progbits
.popsection
