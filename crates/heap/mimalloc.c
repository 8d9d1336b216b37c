/* mimalloc in one piece, as its own static.c has it, with other sizes of blocks
 * (classes.h; see build.rs) and of pages (slices.c), found in another way (finding.c).
 * Four calls of its page.c and theap.c take more of the stack than a malloc should,
 * and go by way of a stack of ours (src/deep.rs). And it has no settings in the
 * environment, which would be meant for a mimalloc of the program's own. */
#define _DEFAULT_SOURCE
#include <limits.h>
#include "mimalloc.h"
#include "mimalloc/internal.h"
#include "mimalloc/prim.h"

mi_page_t *hugetools_page_alloc(mi_theap_t *theap, size_t block_size, size_t page_alignment);
void hugetools_page_free(mi_page_t *page, mi_theap_t *theap);
void hugetools_purge(bool force, bool visit_all, mi_tld_t *tld);
void hugetools_thread_init(void);
bool hugetools_makes_room(int node);
bool hugetools_is_refusing(void);
/* mimalloc's own under its other name, which its arena.c calls before it has it. */
void mimallocs_page_free(mi_page_t *page, mi_theap_t *theap);

#include "classes.h"

#include "alloc.c"
#include "alloc-aligned.c"
#include "alloc-posix.c"

#include "bitmap.c"
#include "finding.c"

/* Whether this thread wants no memory but an arena's; see slices.c. */
static __thread bool arenas_only;
#define _mi_os_alloc_aligned(...) (arenas_only ? NULL : _mi_os_alloc_aligned(__VA_ARGS__))
#define _mi_arenas_page_alloc mimallocs_page_alloc
#define _mi_arenas_page_free mimallocs_page_free
#define _mi_arenas_collect mimallocs_collect
#define _mi_page_stats_bin(page) ((size_t)0)
#define mi_bbitmap_try_find_and_clearN take_slices
#include "arena.c"
#undef mi_bbitmap_try_find_and_clearN
#undef _mi_page_stats_bin
#undef _mi_arenas_collect
#undef _mi_arenas_page_free
#undef _mi_arenas_page_alloc
#undef _mi_os_alloc_aligned

#include "arena-meta.c"
#include "heap.c"

#undef MI_INIT74
#define MI_INIT74(value) value()
#include "init.c"
_Static_assert(sizeof(mi_theap_t) <= MI_META_MAX_SIZE, "larger ones are not to be had");

#define _mi_prim_getenv(name, result, size) (false)
#include "libc.c"
#undef _mi_prim_getenv

#include "options.c"
#include "os.c"

/* Called for each page that is freed: where nothing is due that must cost little. */
static void purge_what_is_due(bool force, bool visit_all, mi_tld_t *tld)
{
  if (!force && !visit_all) {
    mi_msecs_t due = mi_atomic_loadi64_acquire(&tld->subproc->purge_expire);
    if (due == 0 || due > _mi_clock_now()) return;
  }
  hugetools_purge(force, visit_all, tld);
}

/* How large a page for one large block is: mimalloc itself rounds up to more. */
static size_t whole_pages(size_t size)
{
  return is_one_node() ? _mi_align_up(size, _mi_os_page_size()) : _mi_os_good_alloc_size(size);
}
static bool is_kept_ready(mi_page_queue_t *queue);

/* Where a block could not be had all that is free is collected, and it is tried again; not
 * where it comes from elsewhere. */
static void collect_unless_refusing(mi_theap_t *theap, bool force)
{
  if (!force || !hugetools_is_refusing()) mi_theap_collect(theap, force);
}
#define _mi_os_good_alloc_size whole_pages
#define _mi_arenas_collect purge_what_is_due
#define _mi_arenas_page_alloc hugetools_page_alloc
#define _mi_arenas_page_free hugetools_page_free
#define mi_thread_init hugetools_thread_init
#define mi_theap_collect collect_unless_refusing
#include "page.c"
#undef mi_theap_collect
#undef mi_thread_init
#undef _mi_arenas_collect
#undef _mi_arenas_page_free
#undef _mi_arenas_page_alloc
#undef _mi_os_good_alloc_size

/* The map of pages begins at the block of a page, but counts from the page: where
 * a far aligned block begins a slice behind its page, the entry behind it, which is
 * another page's, was set and cleared, too. Here it begins at the page. */
static uint8_t *area_with_what_precedes(const mi_page_t *page, size_t *size)
{
  uint8_t *start = mi_page_slice_start(page);
  *size = (size_t)(mi_page_start(page) - start) + mi_page_size(page);
  return start;
}
#define mi_page_area area_with_what_precedes
#define _mi_page_map_register static mimallocs_map_register
#define _mi_page_map_unregister static mimallocs_map_unregister
#include "page-map.c"
#undef _mi_page_map_unregister
#undef _mi_page_map_register
#undef mi_page_area

#include "slices.c"
#include "spares.c"
#include "torn.c"

#include "random.c"

/* It has no figures of classes: see build.rs. */
#pragma push_macro("MI_BIN_HUGE")
#undef MI_BIN_HUGE
#define MI_BIN_HUGE (0U)
#include "stats.c"
#pragma pop_macro("MI_BIN_HUGE")

#include "theap.c"
#undef _mi_arenas_collect
#include "threadlocal.c"
#include "prim/prim.c"

/* How often libc has called the destructor of this thread. */
static __thread unsigned rounds;

/* Whether nothing will end this thread's part of the heap any more. */
bool hugetools_is_over(void) { return rounds >= PTHREAD_DESTRUCTOR_ITERATIONS; }

/* The destructor of mimalloc's key. libc calls all destructors again and again
 * while some set their keys anew, up to a number of rounds: other destructors may
 * want memory for as long, so mimalloc's is the last. `again` sets the key anew;
 * it fails where the program has no threads. */
void hugetools_thread_end(void *heap, int (*again)(pthread_key_t, const void *))
{
  if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS && again(_mi_heap_default_key, heap) == 0) return;
  rounds = PTHREAD_DESTRUCTOR_ITERATIONS;
  _mi_thread_done(heap);
}

/* Gives back what is free in the arenas, whether it is due or not. */
void hugetools_give_back(void)
{
  return_spares();
  mi_arenas_try_purge(true, true, _mi_subproc_main(), 0);
}
