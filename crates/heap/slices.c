/* How many slices a page for blocks of a size has. mimalloc knows three sizes of
 * pages, and what is left over at their ends is lost: on huge pages it is memory.
 * Here a page has as many as its blocks fill. To fit well it may have to be large,
 * which is a loss where few blocks are wanted: so the first pages of a class are
 * small, and the more there are of it, the better the next one fits. */

/* How well pages fit, by how many pages a class has. */
struct fit {
  unsigned pages;  /* so many at most */
  unsigned part;   /* at most one of so many parts of the next one is lost */
};

static const struct fit fits[] = { { 1, 4 }, { 3, 8 }, { 15, 16 }, { UINT_MAX, 32 } };

/* Blocks of more than a slice begin with pages of one block each, of whole slices: there
 * are over a hundred classes of them, and a program that has a few blocks of each would
 * have more in pages that are not full than in blocks. */
#define LARGE  MI_ARENA_SLICE_SIZE

static const struct fit large_fits[] = {
  { 4, 1 }, { 5, 8 }, { 8, 16 }, { 10, 32 }, { UINT_MAX, 64 },
};

/* A page that still does not fit well with so many slices takes the best that was
 * seen. */
#define MANY_SLICES  (48)

/* How many pages each class has: those in mimalloc's map of pages. */
static _Atomic(unsigned) pages_of_class[MI_BIN_COUNT];

/* The fewest slices that fit, or those that fit best. */
static size_t slices_that_fit(size_t block_size, size_t from, unsigned part)
{
  size_t best = from, least = SIZE_MAX;
  for (size_t slices = from; slices <= MANY_SLICES || slices == from; slices++) {
    const size_t size = mi_size_of_slices(slices);
    const size_t lost = size % block_size;
    if (lost * part <= size) return slices;
    if (least == SIZE_MAX || lost * best < least * slices) {
      best = slices;
      least = lost;
    }
  }
  return best;
}

/* With so many slices a page has so many blocks that it is not one page after the other
 * that is taken and returned. */
static size_t enough_slices(size_t block_size)
{
  return block_size <= MI_SMALL_MAX_OBJ_SIZE ? 1 : 4;
}

/* The least of slices for the next page of a class: one block, if it is large. Of others
 * a thread begins with two, and takes twice as many each second time, until it is enough. */
static size_t least_slices(size_t block_size, size_t class)
{
  static __thread uint8_t taken[MI_BIN_COUNT];
  if (block_size > LARGE) return mi_slice_count_of_size(block_size);
  const size_t enough = enough_slices(block_size);
  const unsigned doubled = taken[class] / 2;
  const size_t slices = mi_slice_count_of_size(block_size << (doubled + 1));
  if (slices >= enough) return enough;
  taken[class]++;
  return slices;
}

/* Many blocks of this size fit into one slice. */
#define SMALL  (4 * MI_KiB)

/* The slices of a page for blocks of a class. */
static size_t slices_of_page(size_t block_size)
{
  if (block_size <= SMALL) return 1;
  const size_t class = _mi_bin(block_size);
  const unsigned pages = atomic_load_explicit(&pages_of_class[class], memory_order_relaxed);
  const struct fit *fit = block_size > LARGE ? large_fits : fits;
  while (pages > fit->pages) fit++;
  return slices_that_fit(block_size, least_slices(block_size, class), fit->part);
}

/* A page of so many slices of an arena, where mimalloc has what it notes of the page
 * elsewhere: all of them are for blocks. `NULL` where no arena has room. */
static mi_page_t *page_of_arena(mi_theap_t *theap, size_t slices, size_t block_size)
{
  const bool before = arenas_only;
  arenas_only = true;
  mi_page_t *page = mi_arenas_page_alloc_fresh(theap, slices, block_size, 1, true);
  arenas_only = before;
  if (page == NULL) return NULL;
  if (page->reserved != 0 && _mi_page_init(theap, page)) return page;
  mi_page_set_theap(page, NULL);
  mimallocs_page_free(page, theap);
  return NULL;
}

/* A page for blocks of which several lie in one, or may. In memory that is no arena's what
 * mimalloc notes of a page stands before the blocks: one that just fits needs a further
 * slice there, or would have no block at all. */
static mi_page_t *regular_page(mi_theap_t *theap, size_t block_size)
{
  const size_t slices = slices_of_page(block_size);
  const size_t noted = mi_page_block_start(block_size, false);
  if (noted + block_size <= mi_size_of_slices(slices)) {
    return mi_arenas_page_regular_alloc(theap, slices, block_size);
  }
  mi_page_t *page = mi_arenas_page_try_find_abandoned(theap, slices, block_size);
  if (page == NULL) page = page_of_arena(theap, slices, block_size);
  if (page == NULL) page = mi_arenas_page_regular_alloc(theap, slices + 1, block_size);
  return page;
}

/* In the place of the function in mimalloc's arena.c. */
mi_page_t *_mi_arenas_page_alloc(mi_theap_t *theap, size_t block_size, size_t alignment)
{
  if (!is_one_node()) return mimallocs_page_alloc(theap, block_size, alignment);
  if mi_unlikely(alignment > MI_PAGE_MAX_OVERALLOC_ALIGN) {
    return mi_arenas_page_singleton_alloc(theap, block_size, alignment);
  }
  if (block_size <= MI_LARGE_MAX_OBJ_SIZE) return regular_page(theap, block_size);
  if (block_size % MI_ARENA_SLICE_SIZE == 0) {
    const size_t slices = mi_slice_count_of_size(block_size);
    mi_page_t *page = page_of_arena(theap, slices, block_size);
    if (page != NULL) return page;
  }
  return mi_arenas_page_singleton_alloc(theap, block_size, alignment);
}

/* The same, in arenas only. */
mi_page_t *hugetools_page_of_arenas(mi_theap_t *theap, size_t block_size, size_t alignment)
{
  const bool before = arenas_only;
  arenas_only = true;
  mi_page_t *page = _mi_arenas_page_alloc(theap, block_size, alignment);
  arenas_only = before;
  return page;
}

/* A page that a thread has left at its end, or `NULL`. */
mi_page_t *hugetools_left_page(mi_theap_t *theap, size_t block_size)
{
  return mi_arenas_page_try_find_abandoned(theap, 0, block_size);
}

/* So many classes of large blocks keep a page ready in each thread: a page of theirs may be
 * a megabyte, there are over a hundred, and some programs use each once. */
#define MOST_READY  (2)

/* Frees the page that the class keeps ready in this thread. */
static void give_up_ready(mi_page_queue_t *queue)
{
  mi_page_t *const page = queue->first;
  if (page == NULL || page->retire_expire == 0 || !mi_page_all_free(page)) return;
  page->retire_expire = 0;
  _mi_page_free(page, queue);
}

/* Notes that a class of large blocks keeps a page ready; the one that did so first of too
 * many keeps none any more. */
static void keep_ready(mi_page_queue_t *queue)
{
  static __thread uint8_t ready[MOST_READY];
  static __thread uint8_t next;
  const size_t class = _mi_bin(queue->block_size);
  for (size_t i = 0; i < MOST_READY; i++) {
    if (ready[i] == class) return;
  }
  const size_t first = ready[next];
  ready[next] = (uint8_t)class;
  next = (next + 1) % MOST_READY;
  if (first != 0) give_up_ready(queue - class + first);
}

/* Whether a class keeps its last page when that is free: not where all is to be given
 * back at once, but for the few classes of small blocks. */
static bool is_kept_ready(mi_page_queue_t *queue)
{
  if (mi_page_queue_is_special(queue)) return false;
  if (queue->block_size <= SMALL) return true;
  if (mi_option_get(mi_option_purge_delay) == 0) return false;
  if (queue->block_size > MI_SMALL_MAX_OBJ_SIZE) keep_ready(queue);
  return true;
}

/* Their slices in arenas. */
static _Atomic(size_t) slices_of_pages;

static void count_page(const mi_page_t *page, int by)
{
  const size_t size = mi_page_block_size(page);
  if (size <= MI_LARGE_MAX_OBJ_SIZE) {
    atomic_fetch_add_explicit(&pages_of_class[_mi_bin(size)], by, memory_order_relaxed);
  }
  if (page->memid.memkind == MI_MEM_ARENA) {
    const size_t slices = page->memid.mem.arena.slice_count;
    atomic_fetch_add_explicit(&slices_of_pages, by * slices, memory_order_relaxed);
  }
}

size_t hugetools_bytes_of_pages(void)
{
  return mi_size_of_slices(atomic_load_explicit(&slices_of_pages, memory_order_relaxed));
}

/* In the place of those in mimalloc's page-map.c. */
mi_decl_nodiscard bool _mi_page_map_register(mi_page_t *page)
{
  if (!mimallocs_map_register(page)) return false;
  count_page(page, 1);
  return true;
}

void _mi_page_map_unregister(mi_page_t *page)
{
  count_page(page, -1);
  mimallocs_map_unregister(page);
}
